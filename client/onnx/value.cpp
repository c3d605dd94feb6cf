#include "client/onnx/value.h"

#include <utility>

#include "client/onnx/reject.h"
#include "runtime/text.h"

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
  value.state_->is_host = true;
  value.state_->data = std::move(data);
  value.state_->name = std::move(name);
  return value;
}

Value Value::of_lengths(Lengths lengths, std::string name) {
  if (lengths.is_const()) return host(host_of(lengths), std::move(name));
  Value value;
  value.state_ = std::make_shared<State>();
  value.state_->lengths = std::move(lengths);
  return value;
}

std::optional<Lengths> Value::lengths() const { return is_host() ? lengths_of(host()) : state_->lengths; }

DType Value::dtype() const {
  if (is_lengths()) return state_->lengths->dtype;
  return is_host() ? host().dtype() : state_->tensor.dtype();
}

client::Shape Value::dims() const {
  if (!is_host() && !is_lengths()) return state_->tensor.shape();
  const Ints& shape = is_host() ? host().shape() : state_->lengths->shape;
  return {shape.begin(), shape.end()};
}

Ints Value::shape() const {
  const client::Shape lengths = dims();
  if (client::is_const(lengths)) return client::const_shape(lengths);
  reject_unsupported(str_cat("an operand of the symbolic shape ", client::to_string(lengths), " here"));
}

const client::Tensor& Value::tensor() const {
  if (!state_) reject("an input is missing");
  if (state_->lengths && state_->tensor.empty()) state_->tensor = tensor_of(*state_->lengths);
  if (state_->is_host && state_->tensor.empty()) {
    const HostTensor& x = state_->data;
    client::Shape shape(x.shape().begin(), x.shape().end());
    if (travels_with_graph(x)) {
      state_->tensor = client::constant(std::move(shape), x.dtype(), std::string(x.data(), x.bytes()));
    } else {
      if (state_->name.empty()) reject("a constant has no name");
      state_->tensor = client::parameter(state_->name, std::move(shape), x.dtype(), {x.data(), x.bytes(), x.owner()});
    }
  }
  return state_->tensor;
}

}  // namespace hearth::onnx
