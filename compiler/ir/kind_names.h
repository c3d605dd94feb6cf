// The words of UOp text (compiler/ir/text.h) for kinds of buffers, loops and reductions, in the order of their enums.
#pragma once
#include <iterator>

#include "compiler/ir/uop.h"

namespace hearth::ir {

inline constexpr const char* kBufferKinds[] = {"input", "output", "parameter", "constant", "arena", "persistent"};
inline constexpr const char* kRangeKinds[] = {"loop", "reduce", "grid", "unroll",    "lanes",
                                              "rows", "depth",  "dot",  "invocation"};
inline constexpr const char* kReduceKinds[] = {"sum", "prod", "max", "min"};

static_assert(std::size(kBufferKinds) == static_cast<int>(BufferKind::Persistent) + 1);
static_assert(std::size(kRangeKinds) == static_cast<int>(RangeKind::Invocation) + 1);
static_assert(std::size(kReduceKinds) == static_cast<int>(ReduceKind::Min) + 1);

}  // namespace hearth::ir
