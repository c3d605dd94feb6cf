// Inputs whose value was known when the plan was prepared (FixedInput of hearth/instance.h).
#include <cstring>

#include "base/text.h"
#include "runtime/replay/instance_state.h"

namespace hearth::runtime {
namespace {

constexpr std::size_t kMaxShown = 8;  // elements

template <typename T>
std::string elements_text(const void* data, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < std::min(count, kMaxShown); ++i) {
    T value;
    std::memcpy(&value, static_cast<const char*>(data) + i * sizeof value, sizeof value);
    str_append(&text, i == 0 ? "" : ", ", +value);
  }
  return count == 1 ? text : str_cat("[", text, count > kMaxShown ? ", ...]" : "]");
}

std::string value_text(DType dtype, const void* data, std::size_t size_bytes) {
  const std::size_t count = size_bytes / dtype_bytes(dtype);
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return elements_text<std::uint8_t>(data, count);
    case DType::kI8:
      return elements_text<std::int8_t>(data, count);
    case DType::kI16:
      return elements_text<std::int16_t>(data, count);
    case DType::kU16:
      return elements_text<std::uint16_t>(data, count);
    case DType::kI32:
      return elements_text<std::int32_t>(data, count);
    case DType::kU32:
      return elements_text<std::uint32_t>(data, count);
    case DType::kI64:
      return elements_text<std::int64_t>(data, count);
    case DType::kU64:
      return elements_text<std::uint64_t>(data, count);
    case DType::kF32:
      return elements_text<float>(data, count);
    case DType::kF64:
      return elements_text<double>(data, count);
    default:
      return "another value";
  }
}

}  // namespace

void Instance::State::add_fixed(std::shared_ptr<const FixedInputs> inputs) {
  fixed_inputs = std::move(inputs);
  if (!fixed_inputs) return;
  fixed.resize(fixed_inputs->size());
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    fixed[i].input = &(*fixed_inputs)[i];
    fixed[i].own = fixed[i].input->bytes;
    fixed[i].address = fixed[i].own.data();
  }
}

Instance::State::Fixed* Instance::State::find_fixed(std::string_view name) {
  for (Fixed& candidate : fixed) {
    if (candidate.input->name == name) return &candidate;
  }
  return nullptr;
}

absl::Status Instance::State::bind_fixed(Fixed& to, const void* data, std::size_t size_bytes,
                                         std::shared_ptr<const void> owner) {
  if (size_bytes != to.input->bytes.size() || (size_bytes > 0 && data == nullptr)) {
    return absl::InvalidArgumentError(str_cat("input '", to.input->name, "' is bound to ",
                                              data == nullptr ? "a null pointer" : str_cat(size_bytes, " bytes"),
                                              "; it needs ", to.input->bytes.size(), " bytes"));
  }
  to.address = data;
  to.owner = std::move(owner);
  return absl::OkStatus();
}

absl::Status Instance::State::check_fixed() const {
  for (const Fixed& given : fixed) {
    const FixedInput& input = *given.input;
    if (std::memcmp(given.address, input.bytes.data(), input.bytes.size()) == 0) continue;
    return absl::FailedPreconditionError(
        str_cat("input '", input.name, "' is ", value_text(input.dtype, given.address, input.bytes.size()),
                "; the plan was prepared for ", value_text(input.dtype, input.bytes.data(), input.bytes.size()),
                ", which decides what it computes: prepare again with the other value (plans of both are kept)"));
  }
  return absl::OkStatus();
}

}  // namespace hearth::runtime
