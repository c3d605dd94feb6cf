// update_in_place: a kernel that makes its result in the memory of an operand stores only what differs from that.
//
// A cache that grows by a token, made in the memory of the cache before: where(t < past, cache[h, t, d], new[h, t -
// past, d]) of all t is a copy of what is there; it becomes new[h, s, d] stored at past + s.
#pragma once
#include <optional>

#include "absl/status/statusor.h"
#include "compiler/passes/kernel/kernel.h"

namespace hearth::passes {

// sink(store(index(param, i), value, ranges...)), where param `slot` stands for the memory that is stored to -> the
// same without that param, for the elements that differ: those between two lengths of one loop. Nothing where the
// kernel reads other elements of it than the one it stores, or these are not of that kind.
absl::StatusOr<std::optional<ir::UOpRef>> update_in_place(ir::Graph& graph, ir::UOpRef kernel, std::uint32_t slot);

// The same for `out`'s slot of `buffer`; nothing where it has none, or works by rows.
absl::StatusOr<std::optional<ir::UOpRef>> update_in_place(ir::Graph& graph, ir::UOpRef kernel, ir::UOpRef buffer,
                                                          const Kernel& out);

}  // namespace hearth::passes
