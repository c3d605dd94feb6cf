#include "tests/toy_target/toy_device.h"

#include <algorithm>
#include <cstring>

#include "base/kernel_abi.h"
#include "compiler/codegen/reference/linear_interpreter.h"
#include "compiler/ir/text.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/artifact_bytes.h"

namespace hearth::toy {
namespace {

using codegen::reference::HostTensor;
using runtime::Rows;

struct Kernels final : runtime::Executable {
  absl::StatusOr<std::unique_ptr<runtime::Program>> program(Rows& rows, const runtime::HostWork& host) const override;
  ir::Graph graph;
  std::vector<std::vector<ir::UOpRef>> bodies;  // by kernel of the plan
};

class Program final : public runtime::Program {
 public:
  Program(const Kernels& kernels, Rows& rows) : kernels_(kernels), rows_(rows) {}
  absl::Status run() override {
    absl::Status status;
    rows_.run_all([&](const Rows::Fork& fork) {
      for (std::uint32_t i = fork.first_step; i < fork.end_step && status.ok(); ++i) status = run_step(rows_.steps[i]);
    });
    return status;
  }
  absl::Status run_profiled(runtime::Profile&) override { return run(); }
  absl::Status rows_changed() override { return absl::OkStatus(); }

 private:
  // The interpreter has memory of its own.
  absl::Status run_step(const Rows::Step& step) {
    const runtime::PlanLaunch& launch = rows_.plan->launches[step.launch];
    std::vector<HostTensor> tensors;
    for (const std::uint32_t id : launch.buffers) {
      const runtime::PlanBuffer& buffer = rows_.plan->buffers[id];
      HostTensor& tensor = tensors.emplace_back();
      tensor.dtype = static_cast<ir::Scalar>(buffer.dtype);
      tensor.bytes.resize(buffer.max_bytes);
      std::memcpy(tensor.bytes.data(), rows_.addresses[step.first_address + tensors.size() - 1], buffer.max_bytes);
    }
    const std::span<const std::int64_t> values(rows_.values.data() + step.first_value, launch.vars.size());
    const absl::Status ran = codegen::reference::interpret_linear(
        kernels_.bodies[step.kernel], {tensors, values, codegen::reference::GridPart{0, step.grid}});
    for (std::size_t i = 0; i < tensors.size(); ++i)
      std::memcpy(rows_.addresses[step.first_address + i], tensors[i].bytes.data(), tensors[i].bytes.size());
    return ran;
  }

  const Kernels& kernels_;
  Rows& rows_;
};

absl::StatusOr<std::unique_ptr<runtime::Program>> Kernels::program(Rows& rows, const runtime::HostWork&) const {
  return std::make_unique<Program>(*this, rows);
}

// Constants stand inline in the text, and in front of all loops in a body.
std::vector<ir::UOpRef> with_constants(const std::vector<ir::UOpRef>& lines) {
  std::vector<ir::UOpRef> body;
  for (const ir::UOpRef node : ir::toposort(lines)) {
    if (node->is(ir::Op::Const)) body.push_back(node);
  }
  body.insert(body.end(), lines.begin(), lines.end());
  return body;
}

class Device final : public runtime::Device {
 public:
  std::string_view name() const override { return "toy"; }
  v1::Target target(int) const override {
    v1::Target target;
    target.set_device("toy");
    target.set_threads(1);
    target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
    return target;
  }
  bool reaches_host_memory() const override { return true; }
  absl::StatusOr<runtime::Buffer> allocate(std::size_t size_bytes, std::string_view what,
                                           runtime::MemoryUse) const override {
    return runtime::Buffer::allocate(size_bytes, what);
  }
  absl::StatusOr<std::unique_ptr<runtime::Executable>> load(
      const runtime::Plan& plan, const std::vector<runtime::ArtifactSource>& artifacts) const override {
    const auto sources = runtime::sources_of(plan, artifacts);
    if (!sources.ok()) return sources.status();
    auto kernels = std::make_unique<Kernels>();
    for (const runtime::ArtifactSource* const source : *sources) {
      const auto code = runtime::read_artifact(*source);
      if (!code.ok()) return code.status();
      const auto lines = ir::parse_list(kernels->graph, code->bytes);
      if (!lines.ok()) return lines.status();
      kernels->bodies.push_back(with_constants(*lines));
    }
    return kernels;
  }
};

class Driver final : public runtime::Driver {
 public:
  std::string_view name() const override { return "toy"; }
  runtime::KernelFormat format() const override { return {"text", ".txt"}; }
  absl::StatusOr<std::vector<runtime::DeviceInfo>> devices() const override {
    runtime::DeviceInfo info;
    info.device = name();
    info.summary = "interprets kernels";
    info.target = device_.target(1);
    return std::vector{info};
  }
  absl::StatusOr<const runtime::Device*> find(std::string_view) const override { return &device_; }

 private:
  Device device_;
};

}  // namespace

void register_devices() {
  static const Driver driver;
  runtime::register_driver(driver);
}

}  // namespace hearth::toy
