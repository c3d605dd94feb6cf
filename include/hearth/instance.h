// Instance: one replayable copy of a loaded plan, with its own arena, inputs and outputs; weights, constants and
// kernels are shared between instances. execute() allocates nothing, takes no lock, makes no RPC and, with one thread
// on the CPU, no system call. One instance is used by one thread at a time; different instances run concurrently.
// Errors: absl::Status naming the value; a refused call changes nothing.
//
//   absl::StatusOr<Instance> instance = plan.instantiate({.threads = 1});   // hearth/prepare.h
//   absl::Status written = instance->input("x")->copy_from(pixels);
//   absl::Status ran = instance->execute();          // then read instance->output("y")->as<float>()
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hearth/dtype.h"
#include "hearth/profile.h"
#include "hearth/view.h"

#pragma GCC visibility push(default)
namespace hearth::runtime {

// What a plan takes or gives under one name. `max_shape` is at the variables' upper bounds.
struct ValueInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> max_shape;
  std::size_t max_bytes = 0;
  std::vector<std::string> lengths = {};  // of the shape, as they are written: "4", "batch", "past + seq"
  std::string stored = {};                // of a call's input or result: onnx::ModelValue::stored
};
struct VariableInfo {
  std::string name;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t unit = 1;  // values are multiples of it
};
// kView: what a step of a loop sees of other buffers; it cannot be read.
enum class BufferKind { kInput, kOutput, kParameter, kConstant, kIntermediate, kPersistent, kView };
std::string_view to_string(BufferKind kind);

// One buffer of a plan; its id is its place in the plan.
struct BufferInfo {
  std::uint32_t id = 0;
  BufferKind kind = BufferKind::kIntermediate;
  std::string name;  // of an input, output or parameter
  DType dtype = DType::kF32;
  std::vector<std::int64_t> max_shape;
  std::size_t max_bytes = 0;
  std::string kernel;  // symbol of the kernel that fills it; empty for what the caller or the plan gives
};

// What one instance holds for itself, and what it copies because the device does not reach the caller's memory.
struct InstanceMemory {
  std::size_t arena_bytes = 0;
  std::size_t io_bytes = 0;          // its own inputs and outputs
  std::size_t copied_in_bytes = 0;   // of bound inputs, before each run, at the variables' values
  std::size_t copied_out_bytes = 0;  // of bound outputs, after each run
};

// An input whose value was known when the plan was prepared and decided what it computes (a condition, a shape, a trip
// count). No kernel reads it; an instance that is given another value refuses to execute.
struct FixedInput {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::string bytes;  // of its elements
};
using FixedInputs = std::vector<FixedInput>;

struct InstanceConfig {
  int threads = 1;  // of this instance's own pool, the calling thread included; 0: every CPU this process may use
  // Gives every intermediate memory of its own, so that all of them can be read after an execute. The results are the
  // same, the arena is larger.
  bool keep_intermediates = false;
  std::shared_ptr<const FixedInputs> fixed_inputs = nullptr;  // taken by name as the plan's inputs are; null: none
};

class Instance {
 public:
  Instance(Instance&&) noexcept;
  Instance& operator=(Instance&&) noexcept;
  ~Instance();

  InstanceMemory memory() const;

  // Variables start at their upper bounds.
  absl::Status set_var(std::string_view name, std::int64_t value);

  // The instance's own buffer of an input, zeroed at first, to write to. It lies in a GPU's own memory where there is
  // some: writes are fast, reads go over the bus. FAILED_PRECONDITION while another one is bound, which may be read-only.
  absl::StatusOr<MutableView> input(std::string_view name);
  // What the input reads: its own buffer, or the one that is bound.
  absl::StatusOr<ConstView> input_view(std::string_view name) const;
  // Reads the input from the caller's memory from now on (no copy where the device reaches it): aligned to the element,
  // at least the size the variables' values need, alive and unchanged during execute(). `owner`, if any, is held while
  // it is bound.
  absl::Status bind_input(std::string_view name, const void* data, std::size_t size_bytes,
                          std::shared_ptr<const void> owner = nullptr);
  // The input reads the instance's own buffer again, as it was.
  absl::Status unbind_input(std::string_view name);
  // Writes the output to the caller's memory from now on, which overlaps no input.
  absl::Status bind_output(std::string_view name, void* data, std::size_t size_bytes);
  // Binds memory of the plan's device, as other libraries of this process have it (a CUDA or HIP address, in the
  // device's primary context): kernels read and write it where it is, nothing is copied. On the CPU they are bind_input
  // and bind_output. INVALID_ARGUMENT for an address that is none of the device's, or too small a part of one;
  // UNIMPLEMENTED where a device's memory has no addresses that others know (Vulkan). input() and output() of what is
  // so bound are FAILED_PRECONDITION.
  absl::Status bind_device_input(std::string_view name, const void* address, std::size_t size_bytes,
                                 std::shared_ptr<const void> owner = nullptr);
  absl::Status bind_device_output(std::string_view name, void* address, std::size_t size_bytes);
  // Valid until the next execute().
  absl::StatusOr<ConstView> output(std::string_view name) const;
  // Any buffer of the plan: an input or output as input() and output() give it, an intermediate as the last execute
  // left it, at that execute's variables. Valid until the next execute(). FailedPrecondition for an intermediate before
  // the first execute, and without InstanceConfig::keep_intermediates for one whose memory another has used since.
  absl::StatusOr<ConstView> buffer(std::uint32_t id) const;

  // From now on the input reads what the output held after the execute before: two buffers of the instance that trade
  // places, no copy. Zeros at first. One dtype; the shape that the output had must be that of the input in the next
  // execute, which variables may make another one, as for a cache that grows ([past + 1] to [past], past being one
  // more). Neither can be bound any more, nor the input written except by set_carried.
  absl::Status carry(std::string_view output, std::string_view input);
  // What the next execute reads from a carried input: `size_bytes` bytes, or zeros for a null `data`.
  absl::Status set_carried(std::string_view input, const void* data = nullptr, std::size_t size_bytes = 0);

  // All of it in one call and by place, as PreparedPlan::variables(), inputs() and outputs() have them; nothing is
  // looked up by name. A call that is refused may have taken some of it.
  //
  // set_var() of every variable: one value each.
  absl::Status set_vars(std::span<const std::int64_t> values);
  // The variables at the values that the inputs' shapes have, and every length checked against them. `given`, where it
  // is not empty, has one place a variable, for those whose value is said; one that is neither said nor decided by a
  // length is an error that names it. An input whose shape has a null pointer is left out.
  using ShapeView = std::span<const std::int64_t>;
  absl::Status set_shapes(std::span<const ShapeView> shapes, std::span<const std::optional<std::int64_t>> given = {});
  std::size_t num_outputs() const;
  // The shape and size of an output at the variables' values.
  void output_shape(std::size_t index, std::vector<std::int64_t>* shape) const;
  std::size_t output_bytes(std::size_t index) const;
  // Binds the caller's arrays as bind_input and bind_output do, and executes. `data` null: what is there stays, so that
  // carried inputs and outputs are left out. Bound until others are.
  struct InputArray {
    const void* data = nullptr;
    std::size_t size_bytes = 0;
  };
  struct OutputArray {
    void* data = nullptr;
    std::size_t size_bytes = 0;
  };
  absl::Status execute(std::span<const InputArray> inputs, std::span<const OutputArray> outputs);
  // What the last execute gave, by place, as output() by name.
  absl::StatusOr<ConstView> output(std::size_t index) const;
  // Back to memory of the instance's own, for what was bound.
  void unbind();

  absl::Status execute();
  // Queues a run behind what `stream` (a CUstream, cudaStream_t or hipStream_t of the plan's device) has, and returns
  // without waiting: results are there when the stream has got so far; what is bound stays bound, alive and as it is until then. A
  // later call of this instance, on whatever stream, comes after it. An error of the run is that of wait() or of a later
  // call.
  // FAILED_PRECONDITION while memory of the host is bound, which would have to be copied; UNIMPLEMENTED on devices
  // without streams.
  absl::Status execute_on(void* stream);
  // Until what execute_on() queued has ended: its results are there. At once where nothing is queued.
  absl::Status wait();
  // Slower: measures every launch, each divided between threads by itself.
  absl::StatusOr<Profile> execute_profiled();

  struct State;  // runtime/replay/instance_state.h
  explicit Instance(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace hearth::runtime
#pragma GCC visibility pop
