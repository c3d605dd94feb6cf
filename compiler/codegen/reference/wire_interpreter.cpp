#include "compiler/codegen/reference/wire_interpreter.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/reference/wire_expr.h"
#include "compiler/codegen/reference/wire_node.h"

namespace hearth::codegen::reference {
namespace {

absl::Status bad(std::string why) { return absl::InvalidArgumentError(std::move(why)); }

// Element `at` of the first axis.
HostTensor element(const HostTensor& x, std::int64_t at) {
  HostTensor result(x.dtype, Dims(x.shape.begin() + 1, x.shape.end()));
  const auto size = static_cast<std::ptrdiff_t>(result.bytes.size());
  std::copy_n(x.bytes.begin() + at * size, size, result.bytes.begin());
  return result;
}

// All results, in their order: graph.proto's Loop, a step at a time.
absl::StatusOr<std::vector<HostTensor>> run_loop(const v1::Graph& graph, const v1::Loop& loop,
                                                 const std::vector<const HostTensor*>& operands,
                                                 std::span<const std::int64_t> vars) {
  const std::int64_t count = evaluate(loop.count(), vars);
  const std::size_t carried = loop.carried(), sliced = loop.sliced();
  v1::Graph body = loop.body();
  *body.mutable_vars() = graph.vars();
  std::vector<std::string> names;
  for (const v1::Node& node : body.nodes()) {
    if (node.op() == v1::INPUT) names.push_back(node.name());
  }
  if (count < 1 || names.size() != operands.size() || carried + sliced > operands.size())
    return bad("oracle: a loop's operands do not fit its body");
  std::vector<HostTensor> state;
  for (std::size_t i = 0; i < carried; ++i) state.push_back(*operands[i]);
  std::vector<std::vector<HostTensor>> made(static_cast<std::size_t>(count));  // by place in what is stacked
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t at = loop.reverse() ? count - 1 - step : step;
    WireBindings bindings;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (i < carried) {
        bindings[names[i]] = state[i];
      } else if (i < carried + sliced) {
        if (operands[i]->shape.empty() || operands[i]->shape[0] != count) return bad("oracle: slices do not fit");
        bindings[names[i]] = element(*operands[i], at);
      } else {
        bindings[names[i]] = *operands[i];
      }
    }
    HEARTH_ASSIGN_OR_RETURN(auto values, interpret_wire(body, bindings, vars));
    for (std::size_t i = 0; i < carried; ++i) state[i] = values[i];
    made[at] = std::move(values);
  }
  std::vector<HostTensor> results;
  for (std::size_t r = 0; r < made[0].size(); ++r) {
    if (r < carried && !loop.collected(static_cast<int>(r))) {
      results.push_back(state[r]);
      continue;
    }
    Dims shape = made[0][r].shape;
    shape.insert(shape.begin(), count);
    HostTensor all(made[0][r].dtype, shape);
    all.bytes.clear();
    for (const std::vector<HostTensor>& step : made)
      all.bytes.insert(all.bytes.end(), step[r].bytes.begin(), step[r].bytes.end());
    results.push_back(std::move(all));
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> interpret_wire(const v1::Graph& graph, const WireBindings& bindings,
                                                       std::span<const std::int64_t> vars) {
  if (vars.size() != static_cast<std::size_t>(graph.vars_size())) return bad("oracle: a value for every variable");
  for (int i = 0; i < graph.vars_size(); ++i) {
    if (vars[i] < graph.vars(i).min() || vars[i] > graph.vars(i).max())
      return bad(absl::StrCat("oracle: ", graph.vars(i).name(), " = ", vars[i], " is out of its bounds"));
  }
  // Only what an output needs: a client may have recorded more.
  std::vector<bool> needed(static_cast<std::size_t>(graph.nodes_size()), false);
  for (const v1::GraphOutput& output : graph.outputs()) {
    if (output.node() >= needed.size()) return bad("oracle: an output names no node");
    needed[output.node()] = true;
  }
  for (int i = graph.nodes_size() - 1; i >= 0; --i) {
    if (!needed[i]) continue;
    for (const std::uint32_t input : graph.nodes(i).inputs()) {
      if (input >= static_cast<std::uint32_t>(i)) return bad("oracle: a node's input is not an earlier node");
      needed[input] = true;
    }
  }
  std::vector<HostTensor> values(needed.size());
  std::map<std::int64_t, std::vector<HostTensor>> of_loops;
  for (int i = 0; i < graph.nodes_size(); ++i) {
    if (!needed[i]) continue;
    const v1::Node& node = graph.nodes(i);
    std::vector<const HostTensor*> inputs;
    for (const std::uint32_t input : node.inputs()) inputs.push_back(&values[input]);
    if (node.op() == v1::LOOP) {
      if (node.axes_size() != 2 || node.axes(0) < 0 || node.axes(0) >= graph.loops_size())
        return bad(absl::StrCat("oracle: node ", i, " names no loop"));
      auto [results, is_new] = of_loops.try_emplace(node.axes(0));
      if (is_new) {
        HEARTH_ASSIGN_OR_RETURN(auto computed,
                                run_loop(graph, graph.loops(static_cast<int>(node.axes(0))), inputs, vars));
        results->second = std::move(computed);
      }
      if (node.axes(1) < 0 || node.axes(1) >= static_cast<std::int64_t>(results->second.size()))
        return bad(absl::StrCat("oracle: node ", i, " names no result of its loop"));
      values[i] = results->second[node.axes(1)];
      continue;
    }
    Dims args;
    for (const v1::Expr& arg : node.args()) args.push_back(evaluate(arg, vars));
    absl::StatusOr<HostTensor> value = node_value(node, std::move(inputs), std::move(args), bindings);
    if (!value.ok()) {
      return absl::Status(value.status().code(), absl::StrCat("oracle: node ", i, " (", v1::Op_Name(node.op()),
                                                              "): ", value.status().message()));
    }
    values[i] = *std::move(value);
  }
  std::vector<HostTensor> results;
  for (const v1::GraphOutput& output : graph.outputs()) results.push_back(values[output.node()]);
  return results;
}

}  // namespace hearth::codegen::reference
