// Casts: of numbers, and of strings that are known while importing.
#include "absl/strings/numbers.h"
#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/storage_type.h"
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

PowerRounding power_rounding(NodeContext& node) {
  const std::string mode = node.opset() >= 24 ? node.text("round_mode", "up") : "up";
  if (mode == "up") return PowerRounding::kUp;
  if (mode == "down") return PowerRounding::kDown;
  if (mode == "nearest") return PowerRounding::kNearest;
  reject(str_cat("round_mode is '", mode, "'; expected up, down or nearest"));
}

// Since opset 19 what is too great for a float of eight bits becomes its greatest value, unless saturate = 0.
Values cast_to(NodeContext& node, std::int64_t elem_type) {
  const StorageType* const stored = storage_type(elem_type);
  const DType dtype = dtype_of_elements(elem_type);
  const bool is_fp8 = is_float(dtype) && dtype_bytes(dtype) == 1;
  const bool saturates = node.opset() < 19 || node.integer("saturate", 1) != 0;
  const PowerRounding rounding = power_rounding(node);
  const Value& given = node.input(0);
  if (given.is_stored() && stored == &given.storage()) return {given};
  const Value x = given.is_stored() ? Value(decoded(given.codes().tensor(), given.storage())) : given;
  if (stored != nullptr) {
    if (x.is_text()) reject_unsupported(str_cat("a cast of strings to ", stored->name));
    return {Value::stored(Value(encoded(x.tensor(), *stored, {saturates, rounding})), *stored)};
  }
  if (x.is_text()) return {node.made(numbers_of(x.text(), dtype))};
  if (x.dtype() == dtype) return {x};
  if (x.is_lengths() && (dtype == DType::kI64 || dtype == DType::kI32)) {
    std::optional<Lengths> lengths = lengths_rounded(*x.lengths(), Rounding::kDown);  // of what is not negative
    if (lengths) {
      lengths->dtype = dtype;
      lengths->divisors.clear();
      if (lengths->fit()) return {node.made(*lengths)};
    }
  }
  if (x.is_lengths() && is_float(dtype)) {
    if (const std::optional<Lengths> floats = lengths_as_floats(*x.lengths(), dtype)) return {node.made(*floats)};
  }
  if (x.is_host() && can_fold(x.host()) && !is_fp8) return {node.made(host_cast(x.host(), dtype))};
  const bool bounds = is_fp8 && saturates && node.opset() >= 19;
  return {Value(bounds ? client::saturating_cast(x.tensor(), dtype) : client::cast(x.tensor(), dtype))};
}

constexpr int kTypeNumber = 6;  // first opset; the type's name before

Values cast(NodeContext& node) {
  if (node.opset() >= kTypeNumber) return cast_to(node, node.required_integer("to"));
  const std::string name = node.text("to", "");
  ::hearth_onnx::TensorProto::DataType type = ::hearth_onnx::TensorProto::UNDEFINED;
  if (!::hearth_onnx::TensorProto_DataType_Parse(name, &type))
    reject(str_cat("attribute to = '", name, "' names no type"));
  return cast_to(node, type);
}

Values cast_like(NodeContext& node) {
  const Value& like = node.input(1);
  return cast_to(node, like.is_stored() ? like.storage().elem_type : onnx_from_dtype(like.dtype()));
}

struct Bits {
  std::string_view name;
  int number = 0;
};

Bits bits_of(std::int64_t elem_type) {
  const StorageType* const stored = storage_type(elem_type);
  return {element_type_name(elem_type),
          stored != nullptr ? stored->bits : 8 * static_cast<int>(dtype_bytes(dtype_from_onnx(elem_type)))};
}

// bool is a byte of 0 or 1, a type that is only stored its codes.
Values bit_cast(NodeContext& node) {
  const Value& x = node.input(0);
  const std::int64_t elem_type = node.required_integer("to");
  const Bits from = bits_of(x.is_stored() ? x.storage().elem_type : onnx_from_dtype(x.dtype())),
             to = bits_of(elem_type);
  if (from.number != to.number)
    reject(str_cat(from.name, " has ", from.number, " bits, ", to.name, " ", to.number, "; BitCast needs as many"));
  Tensor bits = x.is_stored() ? x.codes().tensor() : x.tensor();
  if (bits.dtype() == DType::kBool) bits = client::cast(bits, DType::kU8);
  if (const StorageType* const stored = storage_type(elem_type))
    return {Value::stored(Value(client::bitcast(bits, DType::kU8)), *stored)};
  const DType dtype = dtype_from_onnx(elem_type);
  if (dtype == DType::kBool) return {Value(client::cast(client::bitcast(bits, DType::kU8), dtype))};
  return {Value(client::bitcast(bits, dtype))};
}

constexpr OperatorEntry kOperators[] = {
    {"BitCast", bit_cast, 26, kCommonOpset, BoundedInputs::kElementwise},
    {"Cast", cast, 1, kCommonOpset, BoundedInputs::kElementwise},
    {"CastLike", cast_like, 15},
};

}  // namespace

std::span<const OperatorEntry> cast_operators() { return kOperators; }

}  // namespace hearth::onnx
