#include "tests/fuzz/simplify/checker.h"

#include <algorithm>
#include <random>

#include "compiler/ir/text.h"

namespace hearth::test {

using ir::Op;
using ir::UOpRef;
using Wide = __int128;

namespace {

constexpr int kPoints = 24;

std::string text_of(const std::optional<std::vector<Wide>>& values) {
  if (!values) return "an overflow";
  std::string text;
  for (Wide value : *values) text += (text.empty() ? "" : ", ") + std::to_string(static_cast<std::int64_t>(value));
  return text;
}

std::string text_of(const Assignment& leaves) {
  std::string text;
  for (auto [leaf, value] : leaves) text += "\n  " + ir::describe(leaf, 1) + " = " + std::to_string(value);
  return text;
}

bool is_checkable(UOpRef node) {
  return ir::is_int(node->dtype) || ir::is_bool(node->dtype) || node->is(Op::Index) || node->is(Op::Store);
}

}  // namespace

std::optional<std::string> check(ir::Graph& graph, UOpRef root, const rewrite::RuleSet& rules, const BufferSizes& sizes,
                                 std::uint64_t seed, Counts& counts) {
  const rewrite::RewriteOptions options = {.max_rewrites = 20000, .fire_counts = &counts.fired};
  const auto simple = rewrite::rewrite(graph, root, rules, options);
  if (!simple.ok()) return std::string(simple.status().message());
  const auto to = "simplified:\n" + ir::print(*simple);
  counts.changed += *simple != root;
  if (root->dtype != (*simple)->dtype) return to + "the dtype changed";
  const auto again = rewrite::rewrite(graph, *simple, rules, {.max_rewrites = 20000});
  if (!again.ok()) return to + "again: " + std::string(again.status().message());
  if (*again != *simple) return to + "again:\n" + ir::print(*again);
  std::mt19937_64 random(seed);
  for (int point = 0; point < kPoints; ++point) {
    const bool edges = point % 3 == 0;
    auto next = [&](std::uint64_t n) {
      if (edges && n > 0) return random() % 2 ? 0 : n - 1;
      return n == 0 ? random() >> (random() % 2 ? 0 : 58) : random() % n;
    };
    Assignment leaves;
    if (!assign(root, leaves, next) || !assign(*simple, leaves, next)) continue;
    Evaluator before(leaves, sizes), after(leaves, sizes);
    const auto expected = observe(before, root);
    if (before.unsound() != nullptr) {
      return "outside its bounds: " + ir::describe(before.unsound(), 3) + text_of(leaves);
    }
    if (!expected || before.outside() != nullptr) continue;
    ++counts.points;
    const auto actual = observe(after, *simple);
    if (actual != expected) {
      return to + "expected " + text_of(expected) + ", got " + text_of(actual) + text_of(leaves);
    }
    if (after.unsound() != nullptr) {
      return to + "outside its bounds: " + ir::describe(after.unsound(), 3) + text_of(leaves);
    }
    if (after.outside() != nullptr) {
      return to + "outside its buffer: " + ir::describe(after.outside(), 3) + text_of(leaves);
    }
  }
  return std::nullopt;
}

UOpRef minimize(ir::Graph& graph, UOpRef root, const std::function<bool(UOpRef)>& fails) {
  int budget = 3000;
  auto still = [&](UOpRef candidate) { return candidate != root && budget-- > 0 && fails(candidate); };
  for (bool smaller = true; smaller && budget > 0;) {
    smaller = false;
    const std::vector<UOpRef> order = ir::toposort(root);
    for (UOpRef node : order) {  // the smallest part that fails alone
      if (node == root || !is_checkable(node) || node->sources.empty() || !still(node)) continue;
      root = node;
      smaller = true;
      break;
    }
    if (smaller) continue;
    for (auto at = order.rbegin(); at != order.rend() && !smaller; ++at) {
      const UOpRef node = *at;
      if (!(ir::is_int(node->dtype) || ir::is_bool(node->dtype)) || node->is_const()) continue;
      std::vector<UOpRef> others = {graph.constant(node->dtype, 0), graph.constant(node->dtype, 1)};
      if (node->sources.empty() || node->is(Op::Range)) others.clear();
      for (UOpRef source : node->sources) {
        if (source->dtype == node->dtype && !node->is(Op::Range)) others.push_back(source);
      }
      for (UOpRef other : others) {
        const std::pair<UOpRef, UOpRef> pair(node, other);
        const UOpRef candidate = ir::substitute(graph, root, std::span(&pair, 1));
        if (!still(candidate)) continue;
        root = candidate;
        smaller = true;
        break;
      }
    }
  }
  return root;
}

}  // namespace hearth::test
