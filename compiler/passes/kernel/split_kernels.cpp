#include "compiler/passes/kernel/split_kernels.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/sha256.h"
#include "compiler/ir/shape.h"
#include "compiler/ir/text.h"
#include "compiler/passes/import/import_expr.h"
#include "compiler/passes/kernel/append_loop.h"
#include "compiler/passes/kernel/kernel_memo.h"
#include "compiler/passes/kernel/scatter.h"
#include "compiler/passes/ranged/once_stages.h"
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
  Splitter(ir::Graph& g, UOpRef sink, const ImportedGraph& imported,
           const std::vector<std::vector<UOpRef>>& output_shapes, const target::Target& target,
           const std::vector<BlobKernel>& blobs, const Tuning& tuning, const std::vector<Schedule>& bodies)
      : g_(g),
        sink_(sink),
        imported_(imported),
        output_shapes_(output_shapes),
        blobs_(blobs),
        bodies_(bodies),
        target_(target),
        tuning_(tuning),
        once_(sink),
        memo_(g, target, [this](UOpRef b) { return once_.contains(b); }, tuning) {}

  absl::StatusOr<Schedule> run() {
    for (const ImportedBuffer& b : imported_.buffers)
      out_.buffers.push_back(planned(b.kind, b.name, b.dtype, b.shape, b.data));
    std::vector<UOpRef> stages = stages_in_order(sink_);
    place_outputs();
    for (UOpRef stage : stages) {
      if (auto s = build(stage); !s.ok()) return s;
    }
    if (auto s = compute_in_copies(); !s.ok()) return s;
    for (UOpRef stage : stages) place_stage(stage);
    for (UOpRef stage : order_) add_launch(stage);
    for (PlannedKernel& kernel : out_.kernels)
      kernel.source = fmt::format("{}", fmt::join(g_.provenance_texts(kernel.provenance), "; "));
    // Once launches depend on parameters alone: they come first, in their own order.
    std::ranges::stable_partition(out_.launches, [](const PlannedLaunch& l) { return l.once; });
    return std::move(out_);
  }

 private:
  static PlannedBuffer planned(ir::BufferKind kind, std::string name, ir::DType dtype, std::vector<UOpRef> shape,
                               std::string data = {}) {
    PlannedBuffer b{kind, std::move(name), dtype, std::move(shape), 0, 0, std::move(data), {}, {}};
    b.max_bytes = byte_size(dtype);
    for (UOpRef dim : b.shape) b.max_bytes *= dim->bounds.max;
    return b;
  }

  void place_outputs() {
    for (std::size_t i = 0; i < sink_->sources.size(); ++i) {
      UOpRef stage = sink_->source(i);
      buffer_of_[stage] = static_cast<std::uint32_t>(out_.buffers.size());
      out_.buffers.push_back(
          planned(ir::BufferKind::Output, imported_.output_names[i], stage->dtype, output_shapes_[i]));
      is_output_[stage] = true;
    }
  }

  void place_stage(UOpRef stage) {
    if (buffer_of_.contains(stage) || stage->as<ir::StageInfo>().kept || in_copy_.contains(stage)) return;
    const ir::Shape shape = axes_of(stage);
    buffer_of_[stage] = static_cast<std::uint32_t>(out_.buffers.size());
    out_.buffers.push_back(
        planned(once_.contains(stage) ? ir::BufferKind::Persistent : ir::BufferKind::Arena, "", stage->dtype, shape));
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

  absl::Status build(UOpRef stage) {
    // In its reader's kernel, or nothing to compute.
    if (stage->as<ir::StageInfo>().kept || is_empty(stage)) return absl::OkStatus();
    HEARTH_RETURN_IF_ERROR(check_size(stage));
    order_.push_back(stage);
    if (stage->source(0)->is(Op::Scatter)) {
      HEARTH_ASSIGN_OR_RETURN(KernelAst built, build_scatter(g_, stage, target_, tuning_));
      built_.emplace(stage, std::move(built));
      return absl::OkStatus();
    }
    if (is_opaque(stage->source(0))) {
      KernelAst& built = built_[stage];
      built.buffers = {stage};
      for (UOpRef load : stage->source(0)->sources) built.buffers.push_back(load->source(0)->source(0));
      built.provenance = stage->provenance;
      return absl::OkStatus();
    }
    HEARTH_ASSIGN_OR_RETURN(KernelAst built, memo_.build(stage));
    built_.emplace(stage, std::move(built));
    return absl::OkStatus();
  }

  // An elementwise stage that is only read to be packed is computed while it is packed.
  absl::Status compute_in_copies() {
    std::unordered_map<UOpRef, int> readers;
    for (UOpRef stage : order_) {
      const KernelAst& kernel = built_.at(stage);
      for (std::size_t i = 1; i < kernel.buffers.size(); ++i) ++readers[kernel.buffers[i]];
      for (const KernelAst::Packing& packing : kernel.packings) ++readers[packing.source];
    }
    for (UOpRef stage : order_) {
      for (KernelAst::Packing& packing : built_.at(stage).packings) {
        UOpRef source = packing.source;
        if (!source->is(Op::Stage) || readers.at(source) != 1 || is_output_[source] || !is_elementwise(source) ||
            packing.kernels.size() != 1)
          continue;
        HEARTH_RETURN_IF_ERROR(memo_.compute_in_copy(packing));
        in_copy_.insert(source);
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

  void add_launch(UOpRef stage) {
    const KernelAst& built = built_.at(stage);
    UOpRef value = stage->source(0);
    if (value->is(Op::Blob)) return add_blob(built, blobs_[value->as<ir::BlobInfo>().id], once_.contains(stage));
    if (value->is(Op::Loop)) return add_loop(value->as<ir::LoopInfo>().id, built);
    Copies copies;
    for (const KernelAst::Packing& packing : built.packings) {
      copies[packing.copy] = add_copy(packing);
    }
    add_kernel(built, copies, once_.contains(stage));
  }

  using Copies = std::unordered_map<UOpRef, std::uint32_t>;  // stand-in -> the copy's buffer

  std::uint32_t buffer_id(UOpRef buffer, const Copies& copies) const {
    if (auto copy = copies.find(buffer); copy != copies.end()) return copy->second;
    return buffer->is(Op::Stage) ? buffer_of_.at(buffer) : buffer->as<ir::BufferInfo>().id;
  }

  // The buffer of a packed copy; kernels that read one buffer in one order share it.
  std::uint32_t add_copy(const KernelAst::Packing& packing) {
    std::string text;
    for (const KernelAst& kernel : packing.kernels) text += ir::print(kernel.root);
    const bool once = once_.contains(packing.source);
    const auto next = static_cast<std::uint32_t>(out_.buffers.size());
    if (!in_copy_.contains(packing.source)) {
      auto [found, added] = copy_of_.emplace(std::make_pair(buffer_id(packing.source, {}), std::move(text)), next);
      if (!added) return found->second;
    }
    out_.buffers.push_back(planned(once ? ir::BufferKind::Persistent : ir::BufferKind::Arena, "", packing.source->dtype,
                                   {g_.index(packing.elements)}));
    for (const KernelAst& kernel : packing.kernels) add_kernel(kernel, {{packing.copy, next}}, once);
    return next;
  }

  void add_blob(const KernelAst& built, const BlobKernel& blob, bool once) {
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
  void add_loop(std::uint32_t id, const KernelAst& built) {
    if (!placed_loops_.insert(id).second) return;
    LoopBuffers buffers;
    for (std::size_t i = 1; i < built.buffers.size(); ++i) buffers.operands.push_back(buffer_id(built.buffers[i], {}));
    const ImportedLoop& loop = imported_.loops[id];
    buffers.results.resize(loop.results.empty() ? 0 : loop.results.back() + 1);
    for (UOpRef stage : order_) {
      UOpRef value = stage->source(0);
      if (value->is(Op::Loop) && value->as<ir::LoopInfo>().id == id)
        buffers.results[value->as<ir::LoopInfo>().result] = buffer_of_.at(stage);
    }
    append_loop(out_, loop, bodies_[id], buffers, [this](const PlannedKernel& kernel) {
      auto [found, added] = kernel_of_.emplace(kernel.text, out_.kernels.size());
      if (added) out_.kernels.push_back(kernel);
      PlannedKernel& same = out_.kernels[found->second];
      same.provenance = g_.merge_provenance(same.provenance, kernel.provenance);
      return static_cast<std::uint32_t>(found->second);
    });
  }

  void add_kernel(const KernelAst& built, const Copies& copies, bool once) {
    out_.bounds.add(built.bounds);
    PlannedLaunch launch;
    for (UOpRef b : built.buffers) launch.buffers.push_back(buffer_id(b, copies));
    launch.vars = built.vars;
    launch.grid = built.grid;
    launch.launch_work = built.launch_work;
    launch.once = once;
    std::string text = ir::print(built.root);
    auto [found, added] = kernel_of_.emplace(text, out_.kernels.size());
    if (added) {
      PlannedKernel kernel;
      kernel.symbol = fmt::format("hearth_{}_{}", built.name, to_hex(sha256(text)).substr(0, 8));
      kernel.text = text;
      kernel.ast = ir::print(g_.make(Op::Sink, ir::Scalar::Void, built.root->sources, ir::KernelInfo{kernel.symbol}));
      kernel.num_ops = built.num_ops;
      kernel.work = built.work;
      kernel.accesses = slot_accesses(built.root, built.buffers.size());
      kernel.choice = built.choice;
      kernel.cost = built.cost;
      out_.kernels.push_back(std::move(kernel));
    }
    add_launch(std::move(launch), found->second, built.provenance);
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
  const std::vector<std::vector<UOpRef>>& output_shapes_;
  const std::vector<BlobKernel>& blobs_;
  const std::vector<Schedule>& bodies_;
  const target::Target& target_;
  const Tuning& tuning_;
  const OnceStages once_;
  KernelMemo memo_;
  Schedule out_;
  std::unordered_set<std::uint32_t> placed_loops_;
  std::unordered_map<UOpRef, std::uint32_t> buffer_of_;
  std::unordered_map<UOpRef, bool> is_output_;
  std::unordered_map<UOpRef, KernelAst> built_;
  std::vector<UOpRef> order_;           // of launches
  std::unordered_set<UOpRef> in_copy_;  // stages that are computed in a packed copy's kernel
  std::unordered_map<std::string, std::size_t> kernel_of_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> copy_of_;  // source buffer and kernels -> the copy
};

}  // namespace

absl::StatusOr<Schedule> split_kernels(ir::Graph& graph, UOpRef sink, const ImportedGraph& imported,
                                       const std::vector<std::vector<UOpRef>>& output_shapes,
                                       const target::Target& target, const std::vector<BlobKernel>& blobs,
                                       const Tuning& tuning, const std::vector<Schedule>& bodies) {
  return Splitter(graph, sink, imported, output_shapes, target, blobs, tuning, bodies).run();
}

}  // namespace hearth::passes
