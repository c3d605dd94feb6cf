// The value of graph.proto's expressions, read straight from the proto as wire_interpreter.h reads graphs.
#pragma once
#include <cstdint>
#include <span>

#include "hearth/v1/graph.pb.h"

namespace hearth::codegen::reference {

// 1 when it has no token. The expression must be one that import accepts.
std::int64_t evaluate(const v1::Expr& expr, std::span<const std::int64_t> vars);

}  // namespace hearth::codegen::reference
