// str_cat: absl::StrCat that also takes std::string_view, which Debian's absl (built as C++14) does not.
// Pure functions; thread-safe. Example:  std::string line = str_cat("axis ", axis, " of '", name, "'");
#pragma once
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace hearth {

template <typename T>
decltype(auto) as_alpha(const T& value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return absl::string_view(value.data(), value.size());
  } else {
    return (value);
  }
}

template <typename... T>
std::string str_cat(const T&... parts) {
  return absl::StrCat(as_alpha(parts)...);
}

template <typename... T>
void str_append(std::string* text, const T&... parts) {
  absl::StrAppend(text, as_alpha(parts)...);
}

}  // namespace hearth
