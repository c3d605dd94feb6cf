// Two lengths that had to be equal and are not known to be: the error says so to who can say that they are, by a payload
// of its status. Inside client/ only.
//
//   fail_unequal("add", message, past + 1, total, loc);
//   equal_lengths_of(error.status())                       // "total=past + 1"
#pragma once
#include <string>
#include <string_view>

#include "hearth/dim.h"
#include "hearth/error.h"

namespace hearth::client {

// fail(), with what would make the lengths equal where one of them is a variable.
[[noreturn]] void fail_unequal(std::string_view op, std::string_view message, const Dim& one, const Dim& two,
                               const Loc& loc);

// "NAME=EXPRESSION"; "" where there is nothing to say. Statuses made of the first keep it by copy_equal_lengths.
std::string equal_lengths_of(const absl::Status& status);
void copy_equal_lengths(const absl::Status& from, absl::Status& to);

}  // namespace hearth::client
