// Program: one traced graph in its executions, which must agree.
//   reference  the oracle: from the wire to values, without the compiler's import (tests/conformance/oracle)
//   imported   import + graph interpreter
//   ast        lower + kernel interpreter on every launch's AST: checks every access
//   linear     compile_kernel's linear bodies + linear interpreter: checks every access, lane by lane
//   compiled   compile_kernel's artifacts, dlopened, in guarded memory
// With HEARTH_CONFORMANCE_DEVICE=aarch64 targets are of that processor, whose kernels the child process of
// conformance/aarch64 runs. With another HEARTH_CONFORMANCE_DEVICE a program is compiled for a GPU (on_gpu), and there are three:
//   ast, linear
//   gpu        compile_kernel's artifacts: of `vulkan` on this machine's first Vulkan device (conformance/vulkan), of
//              `cuda` and `hip` loaded and replayed on the first device of that driver, or of its stand-in
//              (tests/stand_in), whose kernels are of this processor
// What that target lacks is refused by name and counted as a skip; refusals of f32, i32 and bool alone are failures.
// A launch runs in three parts of its grid, the last part first; a parallel region's launches together, either way
// round.
//
//   Program program(builder.graph());
//   program.check({inputs, vars}, Tolerance::exact());      // Catch2 assertions; prints the graph on a failure
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/reference/host_tensor.h"
#include "compiler/codegen/reference/kernel_memory.h"
#include "hearth/v1/graph.pb.h"
#include "hearth/v1/worker.pb.h"
#include "runtime/hal/device.h"
#include "tests/conformance/vulkan/vulkan_runner.h"

namespace hearth::conformance {

using codegen::reference::HostTensor;
using Tensors = std::vector<HostTensor>;

struct Feed {
  Tensors inputs;  // in0, in1, …: inputs and parameters in order
  std::vector<std::int64_t> vars;
};

// |got - want| <= absolute + relative * |want|, or equal, or both NaN. Integers and bools are always exact. Where no
// error is allowed -0 is not +0; any_zero_sign is for what uop.h leaves open (zero_sign.h), and is set by
// tolerances_of.
struct Tolerance {
  double relative = 0, absolute = 0;
  bool any_zero_sign = false;
  static Tolerance exact() { return {}; }
};
using Tolerances = std::vector<Tolerance>;  // one an output, or one for all

class Program {
 public:
  explicit Program(v1::Graph graph);
  using TuningRecords = google::protobuf::RepeatedPtrField<v1::TuningRecord>;
  Program(v1::Graph graph, v1::Target target, TuningRecords records = {});
  ~Program();

  enum class Execution { Imported, Ast, Linear, Compiled, Gpu };
  absl::StatusOr<Tensors> run_reference(const Feed& feed) const;
  // The first call compiles; later calls reuse it.
  absl::StatusOr<Tensors> run(const Feed& feed, Execution execution);
  std::string text() const;  // the graph, as proto text
  // What run() executes; empty when the graph does not lower.
  const v1::LoweredPlan& lowered() const { return lowered_; }
  const std::vector<ir::UOpRef>& linear_kernel(std::size_t kernel);
  // Kernels of which a unit is a workgroup.
  int num_of_workgroups() const;

  // What differs between them, "" if nothing.
  std::string disagreement(const Feed& feed, const Tolerances& tolerances);
  // Fails the Catch2 test on a disagreement, printing the graph.
  void check(const Feed& feed, Tolerance tolerance);

 private:
  struct Kernel;
  absl::Status lower();
  absl::Status compile();
  const absl::Status& prepare();  // compiles, the first time
  absl::StatusOr<Tensors> run_imported(const Feed& feed) const;
  absl::StatusOr<Tensors> replay(const Feed& feed);
  struct Memory {  // one a plan buffer
    std::vector<std::uint8_t*> addresses;
    std::vector<std::size_t> sizes;
  };
  absl::Status run_recorded(std::span<const RunnerBlock> blocks);
  absl::Status launch(const v1::Launch& launch, const Feed& feed, Execution execution, const Memory& memory,
                      codegen::reference::GridPart part);
  absl::Status fork(int first, int end, const Feed& feed, Execution execution, const Memory& memory);
  bool is_refused_by_right() const;
  double work(const Feed& feed);  // arithmetic of one run, about
  v1::Graph graph_;
  v1::Target target_;
  TuningRecords records_;
  v1::CompileOptions options_;
  v1::LoweredPlan lowered_;
  absl::Status prepared_;
  bool is_compiled_ = false;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::string> artifacts_;  // one a kernel, where this process does not run them
  std::vector<RunnerLaunch> recorded_;  // of a run in another process, until all are known
};

// Whether CPU's targets are of AArch64.
bool on_aarch64();
// Whether this process judges a GPU's code instead of the CPU's, and whether a Vulkan device runs it; without a device
// every check is skipped.
bool on_gpu();
bool on_vulkan();
// NotFound without a Vulkan device, or one of the driver that programs are replayed on.
absl::Status find_gpu();
absl::StatusOr<const runtime::Device*> replay_device();
// What hearth knows of Debian 12's lavapipe; or the record of the device that programs are replayed on.
v1::Target gpu_target();

// One with subgroups of `subgroup` that wants more invocations than there are rows (schedule/workgroup_rows), and one that
// wants few, whose invocations compute tiles (schedule/invocation_tile), or whose workgroups do, in shared memory
// (schedule/workgroup_tile).
v1::Target workgroup_target(std::uint32_t subgroup);
v1::Target tile_target();
v1::Target shared_tile_target(std::uint32_t subgroup);
v1::Target matrix_target();  // of cheap loads, whose matrix unit, if it has one, computes

// The host's features (or the baseline's) as a target.
v1::Target host_target();
v1::Target baseline_target();
// Vectors of 512 bits, with masks, which LLVM takes apart where the machine has no such registers.
v1::Target wide_target();
// The host with a cache so small that stages live in their readers' kernels (passes/ranged/compute_at).
v1::Target small_cache_target();
// The host with three threads that are worth waking for anything: parallel regions.
v1::Target threaded_target();

// With dot products of bytes (AVX-512 or AVX-VNNI) and of pairs of bf16, where this machine has them; else the host's.
v1::Target dot_target();

// `tolerances` for the outputs of a graph, which knows whose zeros may have either sign.
Tolerances tolerances_of(const v1::Graph& graph, const Tolerances& tolerances);
// What differs, "" if nothing.
std::string difference(const Tensors& got, const Tensors& want, const Tolerances& tolerances);

}  // namespace hearth::conformance
