// How many columns of a terminal text takes, and cutting it to fit: letters of two columns, combining marks of none.
// For text without control characters (base/printable.h). Pure functions.
//
//   std::string cell = shorten("/models/выход.onnx", 12);   // "/models/вых…"
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::cli {

std::size_t display_width(std::string_view text);
// At most `columns` wide; what is cut is shown by "…" at its end.
std::string shorten(std::string_view text, std::size_t columns);
// The same with the end kept: of a path, the file's name.
std::string shorten_front(std::string_view text, std::size_t columns);

}  // namespace hearth::cli
