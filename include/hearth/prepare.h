// The one way from tensors to a replay: prepare() sends the traced graph to hearthd (starting one when none runs),
// loads the plan and its kernels and binds the parameters; a PreparedPlan is immutable and shared, and makes
// Instances (hearth/instance.h). A prepared plan keeps replaying when the daemon is gone. Thread-safe.
// Errors: absl::Status with gRPC's codes (UNAVAILABLE: no daemon; DEADLINE_EXCEEDED; INVALID_ARGUMENT: the graph).
//
//   absl::StatusOr<PreparedPlan> plan = prepare({{"y", y}}, {.threads = 4});
//   absl::StatusOr<Instance> run = plan->instantiate();
//   absl::Status status = run->bind_input("x", x.data(), x.size() * sizeof(float));
//   if (status.ok()) status = run->execute();                  // then run->output("y")->as<float>()
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hearth/graph.h"
#include "hearth/instance.h"
#include "hearth/subnormals.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

using runtime::BufferInfo;
using runtime::BufferKind;
using runtime::ConstView;
using runtime::FixedInput;
using runtime::FixedInputs;
using runtime::Instance;
using runtime::InstanceConfig;
using runtime::InstanceMemory;
using runtime::MutableView;
using runtime::Profile;
using runtime::ValueInfo;
using runtime::VariableInfo;

struct PrepareProgress {
  // kPacking: weights are laid out as kernels read them; only where that is much, and no other process has done it.
  enum class State { kQueued, kLowering, kCompiling, kLoading, kPacking };
  State state = State::kQueued;
  std::uint32_t kernels_done = 0;
  std::uint32_t kernels_total = 0;
  std::uint64_t bytes_done = 0, bytes_total = 0;  // with kPacking: of weights
};

// An output of a run that the next one takes as its input, as Instance::carry says it.
struct Carried {
  std::string output, input;
};

struct PrepareConfig {
  std::string socket = {};  // empty: HEARTH_SOCKET, else the user's default (docs/daemon.md)
  // "cpu"; "vulkan", "vulkan:N", "vulkan:UUID", and so on with "cuda" and "hip" (docs/devices.md); "null" (records
  // launches, computes nothing); or several between commas: the first on which the plan can be prepared, a software
  // device after "cpu". PreparedPlan::device says which it is.
  std::string device = "cpu";
  int threads = 0;  // 0: HEARTH_THREADS, else every CPU this process may use
  std::chrono::milliseconds deadline = std::chrono::seconds(120);  // of the whole call, daemon start included
  bool auto_start = true;                                          // HEARTH_NO_AUTOSTART=1 also turns it off
  std::uint32_t opt_level = 2;  // what LLVM does to kernels: 0 nothing, 1 what is cheap, 2 all that helps
  bool fast_math = false;
  bool direct_convolutions = false;  // see docs/sdk.md, "How exact"
  // What becomes of subnormal floats on the CPU (docs/sdk.md, "How exact"); nothing: Subnormals::kResults. No part of
  // what is compiled.
  std::optional<Subnormals> subnormals = {};
  // Packed weights from 1 MiB on lie in read-only memory that this user's processes on this node share.
  bool share_weights = true;
  // A plan that is not in the daemon's cache is FAILED_PRECONDITION, with what is missing; nothing is compiled for this
  // call. For serving processes that must not wait for a compiler: hearth prewarm fills the cache before a rollout.
  bool sealed = false;
  // What people call the model, UTF-8: the daemon's log and `hearth cache ls` show it. No part of what is compiled, and
  // no secret from the daemon's operator. At most 256 bytes of it are kept.
  std::string model = {};
  bool keep_intermediates = false;  // InstanceConfig::keep_intermediates of every instance; for tools and debugging
  // Inputs of the model that are none of the graph's, their value being part of what it computes (ImportedModel's,
  // InputSpec::constant): instances take them by name and refuse another value.
  FixedInputs fixed_inputs = {};
  // Every instance carries these. Where an output is its input with more behind, such as a cache of keys that grows by
  // a token, it is made in the input's memory on the CPU: what is there is neither copied nor read again.
  std::vector<Carried> carried = {};
  std::function<void(const PrepareProgress&)> progress = {};  // called on the preparing thread
  // Asked on the preparing thread, every 50 ms while it waits: true ends the call with CANCELLED. What the daemon has
  // compiled by then is kept, and a compile that other callers wait for goes on.
  std::function<bool()> cancelled = {};

  // The defaults with what the environment sets: HEARTH_DEVICE, HEARTH_THREADS, HEARTH_PREPARE_TIMEOUT_MS,
  // HEARTH_OPT_LEVEL, HEARTH_FAST_MATH, HEARTH_DIRECT_CONVOLUTIONS, HEARTH_SHARE_WEIGHTS and HEARTH_SEALED (0 or 1),
  // HEARTH_SUBNORMALS (keep, results, all); HEARTH_SOCKET and HEARTH_NO_AUTOSTART hold for every configuration.
  // InvalidArgument naming the variable, its value and what is expected.
  static absl::StatusOr<PrepareConfig> from_env();
};

struct PrepareStats {
  double prepare_ms = 0;               // the whole prepare(): trace encoding to loaded kernels and `once` launches
  double rpc_ms = 0;                   // the Prepare call alone
  std::uint32_t kernels = 0;           // distinct kernels of the plan
  std::uint32_t compiled_kernels = 0;  // compiled for this call
  std::uint32_t cache_hits = 0;        // found in the daemon's cache
  bool plan_hit = false;
  bool joined = false;                    // shared another caller's compile
  std::string plan_key;                   // 32 bytes
  std::uint32_t once_launches = 0;        // run by this call, to pack weights and fold constants
  std::uint64_t shared_weight_bytes = 0;  // in memory shared with other processes; 0: this process keeps its own
  bool weights_found = false;             // another process had made them
  // The devices of PrepareConfig::device before the one that is used: "vulkan: " and the reason.
  std::vector<std::string> passed_over = {};
  // What a user of the device should know: that it is a software device, that its driver's crashes are not caught.
  std::vector<std::string> device_notes = {};
};

// How the function that a plan was made of is called: its inputs in order, those included that the plan does not read or
// has as constants, and its results. A plan's own inputs and outputs are in the order in which they were recorded.
struct CallSignature {
  struct Result {
    std::string name;
    std::string length_output = {};  // the output that says how many positions along `length_axis` count; empty: all
    std::int64_t length_axis = 0;
    std::string stored = {};  // onnx::ModelValue::stored
  };
  std::vector<ValueInfo> inputs = {};  // name, dtype and lengths
  std::vector<Result> results = {};
  bool empty() const { return inputs.empty() && results.empty(); }
};

struct ExportConfig {
  bool parameters = true;   // false: only their sizes and digests; load_plan is given them
  CallSignature call = {};  // for PreparedPlan::call of who loads the file
  // A file of hearth remote keygen, by whose key the plan file is signed (LoadPlanConfig::trusted_keys); empty: it is not.
  std::string signing_key = {};
};

class PreparedPlan {
 public:
  const PrepareStats& stats() const;
  const std::vector<ValueInfo>& inputs() const;
  const FixedInputs& fixed_inputs() const;  // none of inputs()
  const std::vector<ValueInfo>& outputs() const;
  const std::vector<VariableInfo>& variables() const;
  // What every instance carries: PrepareConfig::carried, or that of the plan that was exported.
  const std::vector<Carried>& carried() const;
  // As the file says that the plan is from; else empty.
  const CallSignature& call() const;
  const std::string& device() const;  // "cpu", "vulkan:0"
  int threads() const;
  std::size_t shared_bytes() const;  // what all instances share: parameters, constants, packed weights
  // Uses PrepareConfig.threads and .keep_intermediates; the second form its own.
  absl::StatusOr<Instance> instantiate() const;
  absl::StatusOr<Instance> instantiate(const InstanceConfig& config) const;
  // The same plan with other bytes for those of its parameters that `parameters` names; the others stay. Nothing is
  // compiled: weights are packed anew. InvalidArgument for a name that is none, or another size.
  absl::StatusOr<PreparedPlan> with_parameters(const std::map<std::string, ParameterData>& parameters) const;
  // The same plan, whose instances replay on `threads` threads (PrepareConfig::threads) from now on.
  absl::StatusOr<PreparedPlan> with_threads(int threads) const;
  // Writes a file that load_plan (hearth/plan_file.h, which names the errors) reads; whole or not at all.
  absl::Status export_to(const std::string& path, const ExportConfig& config = {}) const;
  // What export_to writes.
  absl::StatusOr<std::string> export_bytes(const ExportConfig& config = {}) const;

  struct State;  // client/jit/prepared_state.h
  explicit PreparedPlan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }  // for the library itself

 private:
  std::shared_ptr<const State> state_;
};

// Threads a replay uses for PrepareConfig.threads = `wanted`; InvalidArgument out of range.
absl::StatusOr<int> choose_threads(int wanted);

// Begins to open the session with a daemon that runs, in the background: called before a model is read or traced, the
// first prepare() need not wait for it. Starts no daemon and reports nothing; prepare() does both.
void connect_early(const PrepareConfig& config = {});

absl::StatusOr<PreparedPlan> prepare(const NamedTensors& outputs, const PrepareConfig& config = {});
absl::StatusOr<PreparedPlan> prepare(const TracedGraph& traced, const PrepareConfig& config = {});

}  // namespace hearth::client
#pragma GCC visibility pop
