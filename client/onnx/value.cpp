#include "client/onnx/value.h"

#include <utility>

#include "base/text.h"
#include "client/onnx/reject.h"
#include "client/onnx/storage_type.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {
namespace {

constexpr std::size_t kMaxInlineBytes = 4096;

// Weights stay out of the graph, so that a retrained model reuses the compiled kernels.
bool travels_with_graph(const HostTensor& x) {
  return x.size() <= 1 || (!is_float(x.dtype()) && x.bytes() <= kMaxInlineBytes);
}

}  // namespace

Value::Value(client::Tensor tensor) : state_(std::make_shared<State>()) { state_->tensor = std::move(tensor); }

Value Value::host(HostTensor data, std::string name) {
  Value value;
  value.state_ = std::make_shared<State>();
  value.state_->kind = Kind::kHost;
  value.state_->data = std::move(data);
  value.state_->name = std::move(name);
  return value;
}

Value Value::bounded(client::Tensor tensor, std::int64_t axis, client::Tensor length) {
  Value value(std::move(tensor));
  value.state_->bounded_axis = axis;
  value.state_->length = std::move(length);
  return value;
}

Value Value::of_lengths(Lengths lengths, std::string name) {
  if (lengths.is_const()) return host(host_of(lengths), std::move(name));
  Value value;
  value.state_ = std::make_shared<State>();
  value.state_->kind = Kind::kLengths;
  value.state_->lengths = std::move(lengths);
  return value;
}

Value Value::sequence(std::vector<Value> elements) {
  for (const Value& element : elements) {
    if (element.is_stored()) reject_unsupported(str_cat("a sequence of ", element.storage().name));
    if (element.dtype() == elements.front().dtype()) continue;
    reject(
        str_cat("a sequence of ", dtype_name(elements.front().dtype()), " cannot hold ", dtype_name(element.dtype())));
  }
  Value value;
  value.state_ = std::make_shared<State>();
  value.state_->kind = Kind::kSequence;
  value.state_->elements = std::move(elements);
  return value;
}

Value Value::absent() {
  Value value;
  value.state_ = std::make_shared<State>();
  value.state_->kind = Kind::kAbsent;
  return value;
}

Value Value::permuted(const Value& tensor, Ints order) {
  Value value(client::permute(tensor.tensor(), order));
  value.state_->base = std::make_shared<const Value>(tensor);
  value.state_->order = std::move(order);
  return value;
}

Value Value::of_text(Text text) {
  Value value;
  value.state_ = std::make_shared<State>();
  value.state_->kind = Kind::kText;
  value.state_->text = std::move(text);
  return value;
}

Value Value::stored(Value codes, const StorageType& type) {
  Value value;
  value.state_ = std::make_shared<State>();
  value.state_->kind = Kind::kStored;
  value.state_->elements = {std::move(codes)};
  value.state_->storage = &type;
  return value;
}

const std::vector<Value>& Value::elements() const {
  if (!is_sequence()) reject("a tensor is given where a sequence is needed");
  return state_->elements;
}

void Value::check_tensor() const {
  if (is_tensor()) return;
  if (!state_) reject("an input is missing");
  if (is_text()) reject_unsupported("a tensor of strings as an input here");
  if (is_stored()) {
    reject_unsupported(str_cat("an operand of element type ", storage().name,
                               ", which is moved, cast and dequantised only (insert a Cast); this operator"));
  }
  reject(str_cat(is_sequence() ? "a sequence" : "an optional without a value", " is given where a tensor is needed"));
}

std::optional<Lengths> Value::lengths() const {
  if (is_lengths()) return state_->lengths;
  return is_host() ? lengths_of(host()) : std::nullopt;
}

DType Value::dtype() const {
  check_tensor();
  if (is_lengths()) return state_->lengths.dtype;
  return is_host() ? host().dtype() : state_->tensor.dtype();
}

client::Shape Value::dims() const {
  if (is_stored()) return codes().dims();
  check_tensor();
  if (!is_host() && !is_lengths()) return state_->tensor.shape();
  const Ints& shape = is_host() ? host().shape() : state_->lengths.shape;
  return {shape.begin(), shape.end()};
}

Ints Value::shape() const {
  const client::Shape lengths = dims();
  if (client::is_const(lengths)) return client::const_shape(lengths);
  reject_unsupported(str_cat("an operand of the symbolic shape ", client::to_string(lengths), " here"));
}

void Value::set_known(HostTensor data) const {
  state_->kind = Kind::kHost;
  state_->data = std::move(data);
}

const client::Tensor& Value::tensor() const {
  check_tensor();
  if (is_lengths() && state_->tensor.empty()) state_->tensor = tensor_of(state_->lengths);
  if (is_host() && state_->tensor.empty()) {
    const HostTensor& x = state_->data;
    client::Shape shape(x.shape().begin(), x.shape().end());
    if (travels_with_graph(x)) {
      state_->tensor = client::constant(std::move(shape), x.dtype(), std::string(x.data(), x.bytes()));
    } else {
      if (state_->name.empty()) reject("a constant has no name");
      state_->tensor =
          client::parameter(state_->name, std::move(shape), x.dtype(), {x.address(), x.bytes(), x.owner()});
    }
  }
  return state_->tensor;
}

}  // namespace hearth::onnx
