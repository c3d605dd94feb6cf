#include "compiler/passes/kernel/split_kernels.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/sha256.h"
#include "compiler/ir/shape.h"
#include "compiler/ir/text.h"
#include "compiler/passes/import/import_expr.h"
#include "compiler/passes/kernel/append_loop.h"
#include "compiler/passes/kernel/kernel_memo.h"
#include "compiler/passes/kernel/launch_order.h"
#include "compiler/passes/kernel/main_source.h"
#include "compiler/passes/kernel/scatter.h"
#include "compiler/passes/kernel/summed_slots.h"
#include "compiler/passes/ranged/choices.h"
#include "compiler/passes/ranged/invariant_stages.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"
#include "compiler/rules/rules.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

class Splitter {
 public:
  Splitter(const StageGraph& stages, KernelContext context, const LowerKernel& lower)
      : g_(context.g),
        sink_(stages.sink),
        imported_(stages.imported),
        stages_(stages),
        invariant_(stages.sink),
        needed_if_(needed_if(context.g, stages.sink)),
        context_{context.g, context.target, context.tuning, [this](UOpRef b) { return invariant_.contains(b); }},
        lower_(lower),
        memo_(context_, lower) {}
  Splitter(const Splitter&) = delete;
  Splitter& operator=(const Splitter&) = delete;

  absl::StatusOr<Schedule> run() {
    for (const ImportedBuffer& b : imported_.buffers) {
      out_.buffers.push_back(planned(b.kind, b.name, b.dtype, b.shape));
      out_.buffers.back().data = b.data;
    }
    std::vector<UOpRef> stages = stages_in_order(sink_);
    place_outputs();
    for (std::uint32_t i = 0; i < imported_.carried.size(); ++i) place_carried(i);
    for (UOpRef stage : stages) HEARTH_RETURN_IF_ERROR(build(stage));
    check_readers();
    HEARTH_RETURN_IF_ERROR(compute_in_copies());
    order_ = launch_order(g_, order_, [this](UOpRef stage) {
      std::vector<UOpRef> all;
      for (const Built& built : built_.at(stage)) all.push_back(built.runs_if);
      return all;
    });
    for (UOpRef stage : stages) place_stage(stage);
    for (UOpRef stage : order_) add_launches(stage);
    for (PlannedKernel& kernel : out_.kernels) kernel.source = source_of(kernel);
    // Once launches depend on parameters alone: they come first, in their own order.
    std::ranges::stable_partition(out_.launches, [](const PlannedLaunch& l) { return l.once; });
    return std::move(out_);
  }

 private:
  // What most of its work is for, then the others by name.
  std::string source_of(const PlannedKernel& kernel) const {
    std::vector<std::string> texts = g_.provenance_texts(kernel.provenance);
    if (!kernel.main_source.empty()) {
      std::erase(texts, kernel.main_source);
      texts.insert(texts.begin(), kernel.main_source);
    }
    return fmt::format("{}", fmt::join(texts, "; "));
  }

  static PlannedBuffer planned(ir::BufferKind kind, std::string name, ir::DType dtype, std::vector<UOpRef> shape) {
    PlannedBuffer b{kind, std::move(name), dtype, std::move(shape), {}, 0, 0, {}, {}, {}};
    b.max_bytes = byte_size(dtype);
    for (UOpRef dim : b.shape) b.max_bytes *= dim->bounds.max;
    return b;
  }

  void place_outputs() {
    for (std::size_t i = 0; i < sink_->sources.size(); ++i) {
      UOpRef stage = sink_->source(i);
      buffer_of_[stage] = static_cast<std::uint32_t>(out_.buffers.size());
      out_.buffers.push_back(
          planned(ir::BufferKind::Output, imported_.output_names[i], stage->dtype, stages_.output_shapes[i]));
      is_output_[stage] = true;
    }
  }

  // The output's stage lies in the input's buffer; the output itself is a name of it.
  void place_carried(std::uint32_t i) {
    const ImportedCarry& carry = imported_.carried[i];
    UOpRef stage = sink_->source(carry.output);
    const std::uint32_t output = buffer_of_.at(stage);
    PlannedBuffer &from = out_.buffers[output], &to = out_.buffers[carry.buffer];
    if (carry.input_shape != to.shape || carry.output_shape != from.shape) {
      to.storage = std::exchange(to.shape, carry.input_shape);
      from.storage = std::exchange(from.shape, carry.output_shape);
    }
    out_.in_place.push_back(output);
    buffer_of_[stage] = carry.buffer;
    carried_[stage] = i;
  }

  // Who reads a carried input itself, not what is made of it, does so before that is written.
  void check_readers() {
    for (const auto& [stage, i] : carried_) {
      const std::uint32_t input = imported_.carried[i].buffer;
      for (auto later = std::ranges::find(order_, stage); later != order_.end(); ++later) {
        if (*later == stage) continue;
        for (UOpRef x : stage_body(*later)) {
          const bool reads = x->is(Op::Buffer) && x->as<ir::BufferInfo>().id == input;
          if (reads) out_.not_in_place.push_back(i);
        }
      }
    }
  }

  void place_stage(UOpRef stage) {
    if (buffer_of_.contains(stage) || stage->as<ir::StageInfo>().kept || in_copy_.contains(stage)) return;
    const ir::Shape shape = axes_of(stage);
    buffer_of_[stage] = static_cast<std::uint32_t>(out_.buffers.size());
    out_.buffers.push_back(planned(invariant_.contains(stage) ? ir::BufferKind::Persistent : ir::BufferKind::Arena, "",
                                   stage->dtype, shape));
  }

  absl::Status check_size(UOpRef stage) const {
    const ir::Shape shape = axes_of(stage);
    const std::uint64_t bytes = stored_bytes(shape, stage->dtype);
    if (bytes <= kMaxStoredBytes) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("{}: the value must be stored and takes {} bytes at the variables' upper bounds, a buffer holds at "
                    "most {}; use smaller lengths or bounds",
                    fmt::join(g_.provenance_texts(stage->provenance), "; "), bytes, kMaxStoredBytes));
  }

  // A kernel of a stage, or of one part of a choice.
  struct Built {
    Kernel kernel;
    UOpRef runs_if = nullptr;  // as ChoicePart has it
  };

  absl::Status build(UOpRef stage) {
    // In its reader's kernel, or nothing to compute.
    if (stage->as<ir::StageInfo>().kept || is_empty(stage)) return absl::OkStatus();
    HEARTH_RETURN_IF_ERROR(check_size(stage));
    order_.push_back(stage);
    std::vector<Built>& built = built_[stage];
    if (stage->source(0)->is(Op::Scatter)) {
      HEARTH_ASSIGN_OR_RETURN(const KernelTask task, scatter_task(g_, stage, context_.target));
      HEARTH_ASSIGN_OR_RETURN(std::optional<Kernel> kernel, lower_(task, context_));
      built.push_back({*std::move(kernel), nullptr});
      return absl::OkStatus();
    }
    if (is_opaque(stage->source(0))) {
      Kernel& kernel = built.emplace_back().kernel;
      kernel.buffers = {stage};
      for (UOpRef load : stage->source(0)->sources) kernel.buffers.push_back(load->source(0)->source(0));
      kernel.provenance = stage->provenance;
      return absl::OkStatus();
    }
    if (const auto carried = carried_.find(stage); carried != carried_.end()) {
      const std::uint32_t id = imported_.carried[carried->second].buffer;
      UOpRef buffer = nullptr;
      for (UOpRef x : stage_body(stage)) {
        if (x->is(Op::Buffer) && x->as<ir::BufferInfo>().id == id) buffer = x;
      }
      if (buffer) {
        HEARTH_ASSIGN_OR_RETURN(std::optional<Kernel> kernel, memo_.lower_in_place(stage, buffer));
        if (kernel) built.push_back({*std::move(kernel), nullptr});
        if (!built.empty()) return absl::OkStatus();
      }
      out_.not_in_place.push_back(carried->second);
    }
    for (const ChoicePart& part : parts_of(g_, stage)) {
      if (part.stage != stage) invariant_.add_equal(part.stage, stage);
      HEARTH_ASSIGN_OR_RETURN(Kernel kernel, memo_.lower(part.stage));
      kernel.buffers[0] = stage;
      // What is the same at every replay is made before the first one, whatever its values.
      UOpRef needed = invariant_.contains(stage) ? nullptr : needed_if_.at(stage);
      built.push_back({std::move(kernel), both_run(g_, needed, part.runs_if)});
    }
    return absl::OkStatus();
  }

  // An elementwise stage that is only read to be packed is computed while it is packed.
  absl::Status compute_in_copies() {
    std::unordered_map<UOpRef, int> readers;
    for (UOpRef stage : order_) {
      for (const Built& built : built_.at(stage)) {
        for (std::size_t i = 1; i < built.kernel.buffers.size(); ++i) ++readers[built.kernel.buffers[i]];
        for (const Kernel::Packing& packing : built.kernel.packings) ++readers[packing.source];
      }
    }
    for (UOpRef stage : order_) {
      for (Built& built : built_.at(stage)) {
        for (Kernel::Packing& packing : built.kernel.packings) {
          UOpRef source = packing.source;
          if (!source->is(Op::Stage) || readers.at(source) != 1 || is_output_[source] || !is_elementwise(source) ||
              packing.kernels.size() != 1)
            continue;
          HEARTH_RETURN_IF_ERROR(memo_.compute_in_copy(packing));
          in_copy_.insert(source);
        }
      }
    }
    std::erase_if(order_, [this](UOpRef stage) { return in_copy_.contains(stage); });
    return absl::OkStatus();
  }

  static bool is_elementwise(UOpRef stage) {
    return !is_opaque(stage->source(0)) && std::ranges::none_of(stage_body(stage), [](UOpRef x) {
      const bool kept = x->is(Op::Index) && x->source(0)->is(Op::Stage) && x->source(0)->as<ir::StageInfo>().kept;
      return kept || x->is(Op::Reduce);
    });
  }

  static bool is_empty(UOpRef stage) {
    return std::any_of(stage->sources.begin() + 1, stage->sources.end(),
                       [](UOpRef range) { return range->source(0)->bounds.max < 1; });
  }

  void add_launches(UOpRef stage) {
    const bool once = invariant_.contains(stage);
    UOpRef value = stage->source(0);
    const std::string main = context_.tuning.describe ? main_source(g_, stage) : "";
    for (const auto& [kernel, runs_if] : built_.at(stage)) {
      if (value->is(Op::Blob)) return add_blob(kernel, stages_.blobs[value->as<ir::BlobInfo>().id], once);
      if (value->is(Op::Loop)) return add_loop(value->as<ir::LoopInfo>().id, kernel);
      Copies copies;
      for (const Kernel::Packing& packing : kernel.packings) copies[packing.copy] = add_copy(packing, runs_if, main);
      add_kernel(kernel, copies, {once, runs_if}, main);
    }
  }

  using Copies = std::unordered_map<UOpRef, std::uint32_t>;  // stand-in -> the copy's buffer

  std::uint32_t buffer_id(UOpRef buffer, const Copies& copies) const {
    if (auto copy = copies.find(buffer); copy != copies.end()) return copy->second;
    return buffer->is(Op::Stage) ? buffer_of_.at(buffer) : buffer->as<ir::BufferInfo>().id;
  }

  // The buffer of a packed copy; kernels that read one buffer in one order share it, where they run together.
  std::uint32_t add_copy(const Kernel::Packing& packing, UOpRef runs_if, const std::string& main) {
    std::string text;
    for (const Kernel& kernel : packing.kernels) text += text_of(kernel.root);
    const bool once = invariant_.contains(packing.source);
    if (once) runs_if = nullptr;
    if (runs_if) text += fmt::format("if {}", runs_if->id);
    const auto next = static_cast<std::uint32_t>(out_.buffers.size());
    if (!in_copy_.contains(packing.source)) {
      auto [found, added] = copy_of_.emplace(std::make_pair(buffer_id(packing.source, {}), std::move(text)), next);
      if (!added) return found->second;
    }
    out_.buffers.push_back(planned(once ? ir::BufferKind::Persistent : ir::BufferKind::Arena, "", packing.source->dtype,
                                   {g_.index(packing.elements)}));
    for (const Kernel& kernel : packing.kernels) add_kernel(kernel, {{packing.copy, next}}, {once, runs_if}, main);
    return next;
  }

  void add_blob(const Kernel& built, const BlobKernel& blob, bool once) {
    PlannedLaunch launch;
    for (UOpRef b : built.buffers) launch.buffers.push_back(buffer_id(b, {}));
    launch.grid = blob.grid;
    launch.once = once;
    auto [found, added] = kernel_of_.emplace(blob.symbol, out_.kernels.size());
    if (added) {
      PlannedKernel& kernel = out_.kernels.emplace_back();
      kernel.symbol = kernel.text = blob.symbol;
      kernel.num_ops = blob.num_ops;
      *kernel.blob.emplace().mutable_spec() = blob.spec;
      kernel.blob->set_library(blob.library);
    }
    PlannedKernel& kernel = out_.kernels[found->second];
    kernel.work = kernel.num_ops = std::max(kernel.num_ops, blob.num_ops);
    kernel.cost = {kernel.num_ops, 0, static_cast<double>(out_.buffers[launch.buffers[0]].max_bytes)};
    for (std::size_t i = 1; i < launch.buffers.size(); ++i)
      kernel.cost.bytes_read += static_cast<double>(out_.buffers[launch.buffers[i]].max_bytes);
    add_launch(std::move(launch), found->second, built.provenance);
  }

  // All results of a loop are made where the first of them is.
  void add_loop(std::uint32_t id, const Kernel& built) {
    if (!placed_loops_.insert(id).second) return;
    LoopPlace place{out_, {}, {}};
    for (std::size_t i = 1; i < built.buffers.size(); ++i) place.operands.push_back(buffer_id(built.buffers[i], {}));
    const ImportedLoop& loop = imported_.loops[id];
    place.results.resize(loop.results.empty() ? 0 : loop.results.back() + 1);
    for (UOpRef stage : order_) {
      UOpRef value = stage->source(0);
      if (value->is(Op::Loop) && value->as<ir::LoopInfo>().id == id)
        place.results[value->as<ir::LoopInfo>().result] = buffer_of_.at(stage);
    }
    append_loop(place, loop, stages_.bodies[id], [this](const PlannedKernel& kernel) {
      auto [found, added] = kernel_of_.emplace(kernel.text, out_.kernels.size());
      if (added) out_.kernels.push_back(kernel);
      PlannedKernel& same = out_.kernels[found->second];
      same.provenance = g_.merge_provenance(same.provenance, kernel.provenance);
      return static_cast<std::uint32_t>(found->second);
    });
  }

  // When a kernel runs: once when the plan is loaded, or where `runs_if` (null: always) is 1.
  struct When {
    bool once = false;
    UOpRef runs_if = nullptr;
  };

  // `main`: the source that most of its work is for.
  void add_kernel(const Kernel& built, const Copies& copies, const When& when, const std::string& main) {
    const auto [once, runs_if] = when;
    out_.bounds.add(built.bounds);
    PlannedLaunch launch;
    for (UOpRef b : built.buffers) launch.buffers.push_back(buffer_id(b, copies));
    launch.vars = built.vars;
    launch.grid = built.grid;
    launch.launch_work = built.launch_work;
    launch.once = once;
    const RunsIf runs = taken_apart(g_, runs_if);
    if (runs.units) {
      UOpRef num_ops = launch.launch_work.num_ops;
      if (!num_ops) num_ops = g_.index(static_cast<std::int64_t>(built.num_ops));
      launch.launch_work.num_ops = ir::fold_mul(g_, runs.units, num_ops);
      launch.grid = ir::fold_mul(g_, runs.units, launch.grid);
    }
    for (const auto& [decides, value] : runs.bools) launch.run_if.push_back({buffer_id(decides, {}), value});
    const std::string& text = text_of(built.root);
    auto [found, added] = kernel_of_.emplace(text, out_.kernels.size());
    if (added) {
      PlannedKernel kernel;
      kernel.symbol = fmt::format("hearth_{}_{}", built.name, to_hex(sha256(text)).substr(0, 8));
      kernel.text = text;
      kernel.ast = ir::print(g_.make(Op::Sink, ir::Scalar::Void, built.root->sources, ir::KernelInfo{kernel.symbol}));
      kernel.num_ops = built.num_ops;
      kernel.workgroup = built.workgroup;
      kernel.work = built.work;
      kernel.accesses = slot_accesses(built.root, built.buffers.size());
      kernel.summed = summed_slots(built.root, built.buffers.size());
      kernel.choice = built.choice;
      kernel.cost = built.cost;
      kernel.main_source = main;
      out_.kernels.push_back(std::move(kernel));
    }
    add_launch(std::move(launch), found->second, built.provenance);
  }

  // Printed once: launches that are the same but for what they read have one root.
  const std::string& text_of(UOpRef root) {
    const auto [found, added] = text_of_.try_emplace(root);
    if (added) found->second = ir::print(root);
    return found->second;
  }

  void add_launch(PlannedLaunch launch, std::size_t kernel, std::uint32_t provenance) {
    PlannedKernel& planned = out_.kernels[kernel];
    planned.provenance = g_.merge_provenance(planned.provenance, provenance);
    launch.kernel = static_cast<std::uint32_t>(kernel);
    out_.launches.push_back(std::move(launch));
  }

  ir::Graph& g_;
  UOpRef sink_;
  const ImportedGraph& imported_;
  const StageGraph& stages_;
  InvariantStages invariant_;
  const std::unordered_map<UOpRef, UOpRef> needed_if_;
  const KernelContext context_;
  const LowerKernel& lower_;
  KernelMemo memo_;
  Schedule out_;
  std::unordered_set<std::uint32_t> placed_loops_;
  std::unordered_map<UOpRef, std::uint32_t> buffer_of_;
  std::unordered_map<UOpRef, bool> is_output_;
  std::unordered_map<UOpRef, std::uint32_t> carried_;  // stage -> of imported_.carried
  std::unordered_map<UOpRef, std::vector<Built>> built_;
  std::vector<UOpRef> order_;           // of launches
  std::unordered_set<UOpRef> in_copy_;  // stages that are computed in a packed copy's kernel
  std::unordered_map<UOpRef, std::string> text_of_;
  std::unordered_map<std::string, std::size_t> kernel_of_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> copy_of_;  // source buffer and kernels -> the copy
};

}  // namespace

absl::StatusOr<Schedule> split_kernels(const StageGraph& stages, KernelContext context, const LowerKernel& lower) {
  return Splitter(stages, std::move(context), lower).run();
}

}  // namespace hearth::passes
