// Fields of a message that the onnx.proto it was parsed with does not know: Debian's is of ONNX 1.12, files of today
// have more. Thread-safe.
//
//   for (const UnknownField& field : unknown_fields(node.unknown_fields())) ...
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::onnx {

struct UnknownField {
  std::uint32_t number = 0;
  std::string bytes;  // of a string or a message; empty for a number
};

// In their order. JitError naming `what` when the bytes are no fields.
std::vector<UnknownField> unknown_fields(const std::string& bytes, std::string_view what);

}  // namespace hearth::onnx
