// UOp text: one line a node, sources before users, constants inline. Round-trips: parse(print(x)) == x.
// Numbering follows the toposort from the roots, so equal structure gives equal text in every process: this text is
// the canonical form of a kernel.
//
//   %0 = param f32 [slot=0]
//   %1 = range index [axis=0 loop] 16:index
//   %2 = index void %0 %1 true:bool
//   %3 = load f32 %2
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::ir {

// Text of everything below `root`, `root` last.
std::string print(UOpRef root);

// Text of an ordered list (a linear kernel body): every node once, in this order, sources must come before users.
std::string print_list(std::span<const UOpRef> list);

// The last line's node. Errors name the line: unknown op, dtype or payload, undefined %n, wrong number of sources.
absl::StatusOr<UOpRef> parse(Graph& graph, std::string_view text);

// Every line's node, in the order of the lines: what print_list wrote. Constants, which stand inline, are not among
// them.
absl::StatusOr<std::vector<UOpRef>> parse_list(Graph& graph, std::string_view text);

// One node on one line, sources as nested expressions up to `depth`: for messages.
std::string describe(UOpRef node, int depth = 2);

}  // namespace hearth::ir
