// fold_constant: the value of a C++ constant expression made of integer literals, true, false and operators only.
//
// Generators write 32/2 or (8 > 0) where others write 16 or true; folded, both are the same text. Values are 64-bit;
// a result that does not fit, a division by zero, a name or anything else that is not understood gives nothing, and the
// text stays as it is. Pure; thread-safe.
//   fold_constant("32/2");    // "16"
//   fold_constant("(8>0)");   // "true"
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hearth::blobs {

// Operators: ?: || && | ^ & == != < > <= >= << >> + - * / % and unary + - ! ~, with C++'s precedence.
std::optional<std::string> fold_constant(std::string_view expression);

}  // namespace hearth::blobs
