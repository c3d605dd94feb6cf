#include "client/onnx/constant_inputs.h"

#include <cmath>

#include "base/text.h"
#include "client/onnx/model_file.h"
#include "client/onnx/reject.h"
#include "client/tensor/elements.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

// The declared shape where it is known and has as many elements; else as given, which is checked against it later.
Ints shape_of(const ::hearth_onnx::ValueInfoProto& input, const client::Array& given) {
  const auto& type = input.type().tensor_type();
  if (!type.has_shape()) return given.shape;
  Ints declared;
  for (const auto& dim : type.shape().dim()) {
    if (is_symbolic(dim)) return given.shape;
    declared.push_back(dim.dim_value());
  }
  return count(declared) == count(given.shape) ? declared : given.shape;
}

HostTensor converted(const std::string& name, const HostTensor& x, DType dtype) {
  const auto refuse = [&](const std::string& value) {
    reject(str_cat("input '", name, "' is a constant of type ", dtype_name(dtype), ", which does not hold ", value));
  };
  if (x.dtype() == dtype) return x;
  if (!x.computable()) refuse(str_cat("a ", dtype_name(x.dtype())));
  std::string bytes(static_cast<std::size_t>(x.size()) * dtype_bytes(dtype), '\0');
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (is_float(dtype)) {
      put_real(bytes, dtype, i, x.real(i));
    } else {
      if (is_float(x.dtype()) && x.real(i) != std::trunc(x.real(i))) refuse(str_cat(x.real(i)));
      const std::int64_t value = x.integer(i);
      const bool holds = dtype == DType::kBool ? value == 0 || value == 1 : client::fits(value, dtype);
      if (!holds) refuse(str_cat(value));
      put_integer(bytes, dtype, i, value);
    }
  }
  return HostTensor(dtype, x.shape(), std::move(bytes));
}

}  // namespace

HostTensor constant_input(const ::hearth_onnx::ValueInfoProto& input, const client::Array& given) {
  const absl::Status checked = client::check_array(given, str_cat("the constant of input '", input.name(), "'"));
  if (!checked.ok()) reject(std::string(checked.message()));
  const HostTensor value(given.dtype, shape_of(input, given), given.bytes);
  return converted(input.name(), value, dtype_of_elements(input.type().tensor_type().elem_type()));
}

}  // namespace hearth::onnx
