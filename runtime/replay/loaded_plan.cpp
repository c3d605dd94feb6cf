#include "runtime/replay/loaded_plan.h"

#include <utility>

#include "base/status_macros.h"
#include "runtime/plan/plan_loops.h"

namespace hearth::runtime {
namespace {

BufferKind kind_of(const PlanBuffer& buffer) {
  switch (buffer.kind) {
    case v1::PlanBuffer::INPUT:
      return BufferKind::kInput;
    case v1::PlanBuffer::OUTPUT:
      return BufferKind::kOutput;
    case v1::PlanBuffer::PARAMETER:
      return BufferKind::kParameter;
    case v1::PlanBuffer::CONSTANT:
      return BufferKind::kConstant;
    case v1::PlanBuffer::PERSISTENT:
      return BufferKind::kPersistent;
    case v1::PlanBuffer::VIEW:
      return BufferKind::kView;
    default:
      return BufferKind::kIntermediate;
  }
}

}  // namespace

std::size_t LoadedPlan::shared_bytes() const {
  std::size_t bytes = plan_.persistent_bytes;
  for (const PlanBuffer& buffer : plan_.buffers) {
    const bool alone = buffer.kind == v1::PlanBuffer::PARAMETER || buffer.kind == v1::PlanBuffer::CONSTANT;
    if (alone) bytes += buffer.max_bytes;
  }
  return bytes;
}

void LoadedPlan::describe_buffers() {
  for (const PlanBuffer& buffer : plan_.buffers) {
    BufferInfo info;
    info.id = static_cast<std::uint32_t>(buffers_.size());
    info.kind = kind_of(buffer);
    info.name = buffer.name;
    info.dtype = buffer.dtype;
    info.max_bytes = buffer.max_bytes;
    for (const Expr& length : buffer.shape) info.max_shape.push_back(length.max());
    if (info.kind == BufferKind::kInput || info.kind == BufferKind::kOutput) {
      std::vector<ValueInfo>& values = info.kind == BufferKind::kInput ? inputs_ : outputs_;
      values.push_back({info.name, info.dtype, info.max_shape, info.max_bytes});
      for (const Expr& length : buffer.shape) values.back().lengths.push_back(length.to_text(plan_.vars));
    }
    buffers_.push_back(std::move(info));
  }
  // What a kernel is the first to use was not there before: it is what the kernel makes.
  for (const PlanLaunch& launch : plan_.launches) {
    std::vector<std::uint32_t> used = launch.buffers;
    if (!used.empty() && plan_.buffers[used[0]].view) {  // what is stored to
      const std::vector<std::uint32_t> memory = memory_of(plan_, used[0]);
      used.insert(used.end(), memory.begin(), memory.end());
    }
    for (const std::uint32_t id : used) {
      BufferInfo& info = buffers_[id];
      const bool is_made = info.kind == BufferKind::kOutput || info.kind == BufferKind::kIntermediate ||
                           info.kind == BufferKind::kPersistent;
      if (is_made && info.kernel.empty()) info.kernel = plan_.kernels[launch.kernel].symbol;
    }
  }
}

absl::StatusOr<std::shared_ptr<const LoadedPlan>> LoadedPlan::create(const LoadRequest& request,
                                                                     WeightSharing* sharing) {
  HEARTH_ASSIGN_OR_RETURN(Plan plan, parse_plan(request.plan));
  std::shared_ptr<LoadedPlan> loaded(new LoadedPlan);
  loaded->plan_ = std::move(plan);
  loaded->device_ = request.device;
  loaded->subnormals_ = request.host.subnormals;
  if (loaded->device_ == nullptr) {
    if (request.find == nullptr) return absl::InvalidArgumentError("the request names no device");
    HEARTH_ASSIGN_OR_RETURN(const Device* const device, request.find(loaded->plan_.target.device()));
    loaded->device_ = device;
  }
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                          loaded->device_->load(loaded->plan_, request.artifacts));
  loaded->executable_ = std::move(executable);
  HEARTH_ASSIGN_OR_RETURN(
      std::unique_ptr<BoundWeights> weights,
      BoundWeights::bind(request.parameters, {&loaded->plan_, *loaded->device_, *loaded->executable_, request.host,
                                              sharing, request.progress}));
  loaded->weights_ = std::move(weights);
  loaded->describe_buffers();
  for (const PlanVariable& variable : loaded->plan_.vars) {
    loaded->variables_.push_back({variable.name, variable.min, variable.max, variable.unit});
  }
  return std::shared_ptr<const LoadedPlan>(std::move(loaded));
}

}  // namespace hearth::runtime
