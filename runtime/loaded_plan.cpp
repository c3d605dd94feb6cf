#include "runtime/loaded_plan.h"

#include <cstring>

#include "runtime/mapped_file.h"
#include "runtime/plan_loops.h"
#include "runtime/text.h"
#include "runtime/thread_pool.h"

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

absl::Status LoadedPlan::bind_parameters(const std::map<std::string, ParameterBytes>& parameters) {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    if (buffer.kind != v1::PlanBuffer::PARAMETER) continue;
    auto found = parameters.find(buffer.name);
    if (found == parameters.end()) {
      return absl::InvalidArgumentError(
          str_cat("parameter '", buffer.name, "' is not bound; the plan needs ", buffer.max_bytes, " bytes for it"));
    }
    const ParameterBytes& given = found->second;
    if (given.size != buffer.size_bytes(nullptr) || (given.size > 0 && !given.data)) {
      return absl::InvalidArgumentError(str_cat("parameter '", buffer.name, "' holds ", given.size,
                                                " bytes; the plan needs ", buffer.size_bytes(nullptr)));
    }
    void* address = const_cast<void*>(given.data);
    const bool aligned = reinterpret_cast<std::uintptr_t>(address) % dtype_bytes(buffer.dtype) == 0;
    if (!aligned || given.size < buffer.max_bytes) {
      absl::StatusOr<Buffer> copy = Buffer::allocate(buffer.max_bytes, str_cat("parameter '", buffer.name, "'"));
      if (!copy.ok()) return copy.status();
      if (absl::Status copied = copy_mapped(given.data, given.size, copy->data()); !copied.ok()) {
        return absl::Status(copied.code(), str_cat("parameter '", buffer.name, "': ", copied.message()));
      }
      address = copy->data();
      copies_.push_back(*std::move(copy));
    } else if (given.owner) {
      owners_.push_back(given.owner);
    }
    addresses_[i] = address;
  }
  return absl::OkStatus();
}

absl::Status LoadedPlan::bind_shared() {
  absl::StatusOr<Buffer> persistent = Buffer::allocate(plan_.persistent_bytes, "the persistent block");
  if (!persistent.ok()) return persistent.status();
  persistent_ = *std::move(persistent);
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    PlanBuffer& buffer = plan_.buffers[i];
    if (buffer.kind == v1::PlanBuffer::PERSISTENT) {
      addresses_[i] = static_cast<char*>(persistent_.data()) + buffer.offset;
    } else if (buffer.kind == v1::PlanBuffer::CONSTANT) {
      absl::StatusOr<Buffer> copy = Buffer::allocate(buffer.max_bytes, str_cat("constant buffer ", i));
      if (!copy.ok()) return copy.status();
      std::memcpy(copy->data(), buffer.data.data(), buffer.data.size());
      addresses_[i] = copy->data();
      copies_.push_back(*std::move(copy));
      buffer.data = std::string();
    }
  }
  return absl::OkStatus();
}

std::size_t LoadedPlan::shared_bytes() const {
  std::size_t bytes = persistent_.size_bytes();
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
    if (info.kind == BufferKind::kInput) inputs_.push_back({info.name, info.dtype, info.max_shape, info.max_bytes});
    if (info.kind == BufferKind::kOutput) outputs_.push_back({info.name, info.dtype, info.max_shape, info.max_bytes});
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

void LoadedPlan::run_once_launches(int threads) const {
  std::unique_ptr<ThreadPool> pool;
  for (const PlanLaunch& launch : plan_.launches) {
    if (!launch.once || launch.grid.max() == 0) continue;
    std::vector<void*> slots;
    for (std::uint32_t buffer : launch.buffers) slots.push_back(addresses_[buffer]);
    struct Job {
      const Executable* executable;
      std::uint32_t kernel;
      void* const* slots;
    } job = {executable_.get(), launch.kernel, slots.data()};
    auto task = [](void* context, std::int64_t begin, std::int64_t end) {
      const Job& job = *static_cast<const Job*>(context);
      job.executable->run(job.kernel, job.slots, nullptr, begin, end);
    };
    if (ThreadPool::num_parts(launch.grid.max(), launch.min_units_per_thread, threads) == 1) {
      task(&job, 0, launch.grid.max());
      continue;
    }
    if (!pool) pool = std::make_unique<ThreadPool>(threads);
    pool->run(launch.grid.max(), launch.min_units_per_thread, task, &job);
  }
}

absl::StatusOr<std::shared_ptr<const LoadedPlan>> LoadedPlan::create(const LoadRequest& request) {
  absl::StatusOr<Plan> plan = parse_plan(request.plan);
  if (!plan.ok()) return plan.status();
  std::shared_ptr<LoadedPlan> loaded(new LoadedPlan);
  loaded->plan_ = *std::move(plan);
  absl::StatusOr<const Device*> device = find_device(loaded->plan_.target.device());
  if (!device.ok()) return device.status();
  absl::StatusOr<std::unique_ptr<Executable>> executable = (*device)->load(loaded->plan_, request.artifacts);
  if (!executable.ok()) return executable.status();
  loaded->executable_ = *std::move(executable);
  loaded->addresses_.assign(loaded->plan_.buffers.size(), nullptr);
  if (absl::Status status = loaded->bind_parameters(request.parameters); !status.ok()) return status;
  if (absl::Status status = loaded->bind_shared(); !status.ok()) return status;
  loaded->describe_buffers();
  for (const PlanVariable& variable : loaded->plan_.vars) {
    loaded->variables_.push_back({variable.name, variable.min, variable.max});
  }
  loaded->run_once_launches(request.threads);
  return std::shared_ptr<const LoadedPlan>(std::move(loaded));
}

}  // namespace hearth::runtime
