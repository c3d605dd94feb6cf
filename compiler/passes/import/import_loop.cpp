#include "compiler/passes/import/import_expr.h"
#include "compiler/passes/import/importer.h"
#include "fmt/format.h"

namespace hearth::passes {

using absl::InvalidArgumentError;
using ir::Op;
using ir::Shape;
using ir::UOpRef;

namespace {

bool is_parameter_or_constant(UOpRef x) {
  return x->is(Op::Buffer) && x->as<ir::BufferInfo>().kind != ir::BufferKind::Input;
}

}  // namespace

Result Importer::loop(const v1::Node& n) {
  if (n.axes_size() != 2 || n.axes(0) < 0 || n.axes(0) >= proto_.loops_size())
    return InvalidArgumentError(
        fmt::format("axes are not one of the graph's {} loops and a result of it", proto_.loops_size()));
  for (UOpRef& operand : x_) {  // an operand lies in memory
    if (operand->is_const()) operand = g_.make(Op::Contiguous, operand->dtype, {operand});
  }
  const std::vector<UOpRef> operands = x_;
  const auto [found, is_new] = loop_ids_.emplace(n.axes(0), static_cast<std::uint32_t>(out_.loops.size()));
  if (is_new) {
    if (auto s = import_loop(proto_.loops(static_cast<int>(n.axes(0))), operands); !s.ok()) return s;
  } else if (operands != operands_of_[found->second]) {
    return InvalidArgumentError("the inputs are not those of the loop's other results");
  }
  const ImportedLoop& loop = out_.loops[found->second];
  // Outputs that nobody reads are dropped at the end.
  if (n.axes(1) < 0 || n.axes(1) >= static_cast<std::int64_t>(loop.body.outputs.size()))
    return InvalidArgumentError(fmt::format("result {} of a loop with {}", n.axes(1), loop.body.outputs.size()));
  const auto result = static_cast<std::uint32_t>(n.axes(1));
  results_of_[found->second].insert(result);
  const UOpRef value = loop.body.outputs[result];
  Shape shape = shapes_.of(value);
  if (loop.is_stacked(result)) shape.insert(shape.begin(), loop.count);
  if (auto s = check_stored(shape, value->dtype); !s.ok()) return s;
  std::vector<UOpRef> sources = operands;
  sources.insert(sources.end(), shape.begin(), shape.end());
  return g_.make(Op::Loop, value->dtype, sources,
                 ir::LoopInfo{found->second, result, static_cast<std::uint32_t>(operands.size())});
}

absl::Status Importer::import_loop(const v1::Loop& loop, std::vector<UOpRef> operands) {
  if (operands.empty()) return InvalidArgumentError("a loop needs at least one operand");
  ImportedLoop out;
  auto count = import_expr(g_, loop.count(), out_.vars);
  if (!count.ok()) return InvalidArgumentError(fmt::format("count: {}", std::string(count.status().message())));
  out.count = *count;
  if (out.count->bounds.min < 1) return InvalidArgumentError("the count may be less than 1");
  if (loop.carried() > operands.size() || loop.sliced() > operands.size() - loop.carried())
    return InvalidArgumentError(
        fmt::format("{} carried and {} sliced of {} operands", loop.carried(), loop.sliced(), operands.size()));
  if (loop.collected_size() != static_cast<int>(loop.carried()))
    return InvalidArgumentError(
        fmt::format("{} values are carried and {} said to be collected or not", loop.carried(), loop.collected_size()));
  out.carried = loop.carried();
  out.sliced = loop.sliced();
  out.num_operands = static_cast<std::uint32_t>(operands.size());
  out.reverse = loop.reverse();
  out.collected.assign(loop.collected().begin(), loop.collected().end());
  std::vector<bool> is_fixed(operands.size());
  for (std::size_t i = out.carried + out.sliced; i < operands.size(); ++i)
    is_fixed[i] = is_parameter_or_constant(operands[i]);
  auto body = Importer(g_, loop.body()).run_as_body(out_.vars, std::move(is_fixed));
  if (!body.ok())
    return absl::Status(body.status().code(), fmt::format("body: {}", std::string(body.status().message())));
  out.body = *std::move(body);
  if (auto s = check_operands(out, operands); !s.ok()) return s;
  out_.loops.push_back(std::move(out));
  operands_of_.push_back(std::move(operands));
  results_of_.emplace_back();
  return absl::OkStatus();
}

void Importer::drop_unread_results() {
  for (std::size_t id = 0; id < out_.loops.size(); ++id) {
    ImportedLoop& loop = out_.loops[id];
    ImportedGraph& body = loop.body;
    for (std::uint32_t result = 0; result < body.outputs.size(); ++result) {
      if (result < loop.carried || results_of_[id].contains(result)) loop.results.push_back(result);
    }
    for (std::size_t i = 0; i < loop.results.size(); ++i) {
      body.outputs[i] = body.outputs[loop.results[i]];
      body.output_names[i] = body.output_names[loop.results[i]];
    }
    body.outputs.resize(loop.results.size());
    body.output_names.resize(loop.results.size());
  }
}

absl::Status Importer::check_operands(const ImportedLoop& loop, const std::vector<UOpRef>& operands) {
  std::vector<const ImportedBuffer*> inputs;
  for (const ImportedBuffer& buffer : loop.body.buffers) {
    if (buffer.kind != ir::BufferKind::Constant) inputs.push_back(&buffer);
  }
  if (inputs.size() != operands.size())
    return InvalidArgumentError(fmt::format("{} operands, the body has {} inputs", operands.size(), inputs.size()));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Shape shape = shapes_.of(operands[i]);
    const bool is_sliced = i >= loop.carried && i < loop.carried + loop.sliced;
    if (is_sliced && (shape.empty() || shape[0] != loop.count))
      return InvalidArgumentError(
          fmt::format("operand {} is {}, whose first axis is not {}", i, text(shape), text({loop.count})));
    if (is_sliced) shape.erase(shape.begin());
    if (shape != inputs[i]->shape || operands[i]->dtype != inputs[i]->dtype)
      return InvalidArgumentError(fmt::format("a step sees {} {} of operand {}, the body's input '{}' is {} {}",
                                              to_string(operands[i]->dtype), text(shape), i, inputs[i]->name,
                                              to_string(inputs[i]->dtype), text(inputs[i]->shape)));
  }
  if (loop.body.outputs.size() < loop.carried)
    return InvalidArgumentError(
        fmt::format("{} values are carried, the body has {} outputs", loop.carried, loop.body.outputs.size()));
  for (std::size_t i = 0; i < loop.carried; ++i) {
    const UOpRef next = loop.body.outputs[i];
    if (shapes_.of(next) != inputs[i]->shape || next->dtype != inputs[i]->dtype)
      return InvalidArgumentError(fmt::format("the body makes {} {} of the carried '{}', which is {} {}",
                                              to_string(next->dtype), text(shapes_.of(next)), inputs[i]->name,
                                              to_string(inputs[i]->dtype), text(inputs[i]->shape)));
  }
  return absl::OkStatus();
}

}  // namespace hearth::passes
