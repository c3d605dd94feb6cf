#include "tests/conformance/ops/zero_sign.h"

#include <algorithm>

namespace hearth::conformance {
namespace {

constexpr OpOfAnyZeroSign kOps[] = {
    {v1::MAX, "max(-0, +0) is either: the processors' instructions return their second operand"},
    {v1::MIN, "min(-0, +0) is either, likewise"},
    {v1::REDUCE_MAX, "steps of max"},
    {v1::REDUCE_MIN, "steps of min"},
    {v1::REDUCE_SUM, "a sum of zeros begins with +0 or with its first term, which may be -0"},
    {v1::MATMUL, "its sums, likewise"},
};

bool is_float(v1::DType dtype) { return dtype >= v1::F16; }
// Never -0.
bool clears_sign(v1::Op op) { return op == v1::ABS || op == v1::EXP || op == v1::EXP2 || op == v1::SIGMOID; }

}  // namespace

std::span<const OpOfAnyZeroSign> ops_of_any_zero_sign() { return kOps; }

std::vector<bool> nodes_of_any_zero_sign(const v1::Graph& graph) {
  std::vector<bool> any(static_cast<std::size_t>(graph.nodes_size()), false);
  for (int k = 0; k < graph.nodes_size(); ++k) {
    const v1::Node& node = graph.nodes(k);
    bool listed = std::ranges::any_of(kOps, [&](const OpOfAnyZeroSign& row) { return row.op == node.op(); });
    if (node.op() == v1::LOOP) {  // what a step makes goes into the next one: any node of the body
      const std::vector<bool> in_body = nodes_of_any_zero_sign(graph.loops(static_cast<int>(node.axes(0))).body());
      listed = std::ranges::find(in_body, true) != in_body.end();
    }
    const bool inherited = std::ranges::any_of(node.inputs(), [&](std::uint32_t input) { return any[input]; });
    any[k] = is_float(node.dtype()) && (listed || (inherited && !clears_sign(node.op())));
  }
  return any;
}

}  // namespace hearth::conformance
