#include "client/onnx/value.h"

#include <utility>

#include "client/onnx/reject.h"

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

DType Value::dtype() const { return is_host() ? host().dtype() : state_->tensor.dtype(); }

Ints Value::shape() const { return is_host() ? host().shape() : client::const_shape(state_->tensor.shape()); }

const client::Tensor& Value::tensor() const {
  if (!state_) reject("an input is missing");
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
