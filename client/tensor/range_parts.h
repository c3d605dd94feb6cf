// How the range of a variable is divided, for people, and how it must not be. Inside client/ only; pure functions.
#pragma once
#include <string>

#include "hearth/dim.h"

namespace hearth::client {

// " in parts 1,4,8", " in parts @1,4" for points, " by 32" for multiples, "" for a plain range: other text for others.
std::string parts_text(const Variable& variable);

// Why its range cannot be so; "" if it can.
std::string refusal_of(const Variable& variable);

}  // namespace hearth::client
