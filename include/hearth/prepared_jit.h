// What every wrapper of hearth/jit_wrapper.h is made of, without its names: the declaration (inputs, bounded
// variables) and the prepared model (plan, instance, checked calls). A PreparedJit is used by one thread at a time;
// those of one plan are independent. Errors: absl::Status with a JitErrorKind; a refused call changes nothing.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/error_kind.h"
#include "hearth/input_spec.h"
#include "hearth/prepare.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// A kernel of the plan: its symbol, and how many operations a launch of it takes at the variables' upper bounds.
struct KernelInfo {
  std::string symbol;
  std::uint64_t num_ops = 0;
};

// A variable's value for one execute, by name.
using VarValue = std::pair<std::string_view, std::int64_t>;

// What a build body returns: one tensor (the output "out"), several by name, or an error.
class BuildResult {
 public:
  BuildResult(Tensor output) : value_(NamedTensors{{"out", std::move(output)}}) {}  // NOLINT
  BuildResult(NamedTensors outputs) : value_(std::move(outputs)) {}                 // NOLINT
  BuildResult(absl::Status error) : value_(std::move(error)) {}                     // NOLINT
  BuildResult(absl::StatusOr<Tensor> output)                                        // NOLINT
      : BuildResult(output.ok() ? BuildResult(*std::move(output)) : BuildResult(output.status())) {}
  const NamedTensors* outputs() const { return std::get_if<NamedTensors>(&value_); }
  absl::Status status() const { return outputs() != nullptr ? absl::OkStatus() : std::get<absl::Status>(value_); }

 private:
  std::variant<NamedTensors, absl::Status> value_;
};

struct JitDeclaration {
  std::string wrapper;
  std::vector<std::string> inputs;
  std::vector<Variable> vars;

  // The setters throw JitError at the caller's line when the bounds cross, are negative, or `fixed` is 0.
  void set_max(std::size_t var, std::int64_t max, const Loc& loc);
  void set_min(std::size_t var, std::int64_t min, const Loc& loc);
  void fix(std::size_t var, std::int64_t value, const Loc& loc);
  // A constant when both bounds are equal.
  Dim dim(std::size_t var) const;
};

class PreparedJit {
 public:
  PreparedJit();  // not prepared: every method gives kNotPrepared
  PreparedJit(PreparedJit&&) noexcept;
  PreparedJit& operator=(PreparedJit&&) noexcept;
  ~PreparedJit();

  // Replays with the inputs as they are and every variable at its upper bound.
  absl::Status execute() { return execute_with_vars({}); }
  // Variables not given are at their upper bounds.
  absl::Status execute_with_vars(std::span<const VarValue> vars);
  absl::Status execute_with_vars(std::initializer_list<VarValue> vars) {
    return execute_with_vars(std::span(vars.begin(), vars.size()));
  }
  absl::StatusOr<Profile> execute_profiled() { return execute_with_vars_profiled({}); }
  absl::StatusOr<Profile> execute_with_vars_profiled(std::span<const VarValue> vars);
  absl::StatusOr<Profile> execute_with_vars_profiled(std::initializer_list<VarValue> vars) {
    return execute_with_vars_profiled(std::span(vars.begin(), vars.size()));
  }

  // The first output, or one by name, at the shape of the last execute's variables. Valid until the next execute.
  absl::StatusOr<ConstView> output() const;
  absl::StatusOr<ConstView> output(std::string_view name) const;

  // Reads an input from the caller's memory from now on, see Instance::bind_input.
  // Its *_mut() is an error then, until unbind_input: the caller's memory may be read-only.
  absl::Status bind_input(std::string_view name, const void* data, std::size_t size_bytes);
  absl::Status unbind_input(std::string_view name);

  // Feeds an output back as an input without a copy, see Instance::carry; set_carried gives it other values.
  absl::Status carry(std::string_view output, std::string_view input);
  absl::Status set_carried(std::string_view input, const void* data = nullptr, std::size_t size_bytes = 0);

  // For tools. Spans live as long as the plan, views until the next execute.
  absl::StatusOr<std::span<const BufferInfo>> buffers() const;  // every one, by id; name the answer before a range-for
  // What is in one, see Instance::buffer: intermediates need PrepareConfig::keep_intermediates to be sure.
  absl::StatusOr<ConstView> buffer(std::uint32_t id) const;
  absl::StatusOr<std::vector<ConstView>> output_buffers() const;        // in the order of the body's outputs
  absl::StatusOr<std::vector<std::uint32_t>> input_buffer_ids() const;  // of the declared inputs, in order
  absl::StatusOr<std::vector<KernelInfo>> prepared_kernels() const;
  absl::StatusOr<PrepareStats> stats() const;
  absl::StatusOr<PreparedPlan> plan() const;

  struct State;

 protected:
  // Memory of the input, zeroed at first, at its largest shape.
  absl::StatusOr<MutableView> input(std::size_t index);
  // The same plan with an instance of its own.
  absl::StatusOr<PreparedJit> instantiate() const;

 private:
  friend absl::StatusOr<PreparedJit> prepare_wrapped(
      const JitDeclaration&, std::shared_ptr<const void>, const std::vector<InputSpec>&, const PrepareConfig&,
      const std::function<BuildResult(std::span<const Tensor>, std::span<const Dim>)>&, const Loc&);
  absl::Status not_prepared(std::string_view call) const;
  absl::Status set_vars(std::span<const VarValue> vars, std::string_view call);

  std::unique_ptr<State> state_;
};

// Copies elements to the front of an input: copy_into(jit.mel_mut(), samples). MutableView::copy_from, but for the
// error of a wrapper that is not prepared, which is passed on; its own are of the kind Runtime.
template <runtime::ElementRange R>
absl::Status copy_into(const absl::StatusOr<MutableView>& input, const R& elements) {
  return input.ok() ? with_kind(JitErrorKind::kRuntime, input->copy_from(elements)) : input.status();
}

// Records the build body over placeholders and prepares it. `model` is kept alive as long as the plan.
absl::StatusOr<PreparedJit> prepare_wrapped(
    const JitDeclaration& declaration, std::shared_ptr<const void> model, const std::vector<InputSpec>& specs,
    const PrepareConfig& config, const std::function<BuildResult(std::span<const Tensor>, std::span<const Dim>)>& build,
    const Loc& loc);

}  // namespace hearth::client
#pragma GCC visibility pop
