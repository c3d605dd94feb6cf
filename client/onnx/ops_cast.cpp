// Casts: of numbers, and of strings that are known while importing.
#include "absl/strings/numbers.h"
#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/tensor/elements.h"
#include "hearth/ops/elementwise.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

HostTensor numbers_of(const Text& text, DType dtype) {
  std::string bytes;
  for (const std::string& element : text.elements) {
    double real = 0;
    std::int64_t integer = 0;
    const bool is_number = is_float(dtype) ? absl::SimpleAtod(element, &real) : absl::SimpleAtoi(element, &integer);
    if (!is_number || (!is_float(dtype) && !client::fits(integer, dtype))) {
      reject(str_cat("'", element, "' is no ", dtype_name(dtype)));
    }
    bytes += is_float(dtype) ? client::encode_float(real, dtype) : client::encode_integer(integer, dtype);
  }
  return HostTensor(dtype, text.shape, std::move(bytes));
}

// Since opset 19 what is too great for an fp8 type becomes its greatest value, unless saturate = 0.
Values cast_to(NodeContext& node, DType dtype) {
  const bool is_fp8 = is_float(dtype) && dtype_bytes(dtype) == 1;
  const bool saturates = node.opset() >= 19 && node.integer("saturate", 1) != 0 && is_fp8;
  if (node.opset() >= 24) node.text("round_mode", "up");  // of a type of powers of two alone, which is none of ours
  const Value& x = node.input(0);
  if (x.is_text()) return {node.made(numbers_of(x.text(), dtype))};
  if (x.dtype() == dtype) return {x};
  if (x.is_lengths() && (dtype == DType::kI64 || dtype == DType::kI32)) {
    Lengths lengths = *x.lengths();
    lengths.dtype = dtype;
    if (lengths.fit()) return {node.made(lengths)};
  }
  if (x.is_host() && can_fold(x.host()) && !is_fp8) return {node.made(host_cast(x.host(), dtype))};
  return {Value(saturates ? client::saturating_cast(x.tensor(), dtype) : client::cast(x.tensor(), dtype))};
}

constexpr int kTypeNumber = 6;  // first opset; the type's name before

Values cast(NodeContext& node) {
  if (node.opset() >= kTypeNumber) return cast_to(node, dtype_from_onnx(node.required_integer("to")));
  const std::string name = node.text("to", "");
  ::hearth_onnx::TensorProto::DataType type = ::hearth_onnx::TensorProto::UNDEFINED;
  if (!::hearth_onnx::TensorProto_DataType_Parse(name, &type))
    reject(str_cat("attribute to = '", name, "' names no type"));
  return cast_to(node, dtype_from_onnx(type));
}
Values cast_like(NodeContext& node) { return cast_to(node, node.input(1).dtype()); }

// bool is a byte of 0 or 1.
Values bit_cast(NodeContext& node) {
  const DType from = node.input(0).dtype(), to = dtype_from_onnx(node.required_integer("to"));
  if (dtype_bytes(from) != dtype_bytes(to))
    reject(str_cat(dtype_name(from), " has ", 8 * dtype_bytes(from), " bits, ", dtype_name(to), " ",
                   8 * dtype_bytes(to), "; BitCast needs as many"));
  Tensor x = node.tensor(0);
  if (from == DType::kBool) x = client::cast(x, DType::kU8);
  if (to == DType::kBool) return {Value(client::cast(client::bitcast(x, DType::kU8), to))};
  return {Value(client::bitcast(x, to))};
}

constexpr OperatorEntry kOperators[] = {
    {"BitCast", bit_cast, 26, kCommonOpset, BoundedInputs::kElementwise},
    {"Cast", cast, 1, kCommonOpset, BoundedInputs::kElementwise},
    {"CastLike", cast_like, 15},
};

}  // namespace

std::span<const OperatorEntry> cast_operators() { return kOperators; }

}  // namespace hearth::onnx
