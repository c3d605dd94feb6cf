// What parts a variable's range has, for people, and what they must not be. Inside client/ only; pure functions.
#pragma once
#include <cstdint>
#include <string>

#include "hearth/dim.h"

namespace hearth::client {

// "1,4,8" of ends, "@1,4" of points, "" of none: different for different parts.
std::string parts_text(const RangeParts& parts);

// Why they cannot be parts of a range; "" if they can.
std::string refusal_of(const RangeParts& parts, std::int64_t min, std::int64_t max);

}  // namespace hearth::client
