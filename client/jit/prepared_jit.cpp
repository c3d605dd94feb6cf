#include "hearth/prepared_jit.h"

#include <cxxabi.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/jit/prepared_state.h"
#include "client/jit/request.h"
#include "client/tensor/op_scope.h"
#include "client/trace/graph_inputs.h"
#include "hearth/build_error.h"
#include "hearth/error.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::client {
namespace {

// Everything instances of one prepared wrapper share.
struct Shared {
  JitDeclaration declaration;
  std::shared_ptr<const void> model;  // owns what borrowed parameters point to
  PreparedPlan plan;
  std::vector<std::uint32_t> input_ids;
};

[[noreturn]] void refuse_bound(const std::string& wrapper, std::string_view setter, const std::string& var,
                               std::string_view message, const Loc& loc) {
  fail(str_cat(wrapper, "::with_", var, setter), message, loc);
}

std::vector<std::string> quoted(const std::vector<std::string>& names) {
  std::vector<std::string> text;
  for (const std::string& name : names) text.push_back(str_cat("'", name, "'"));
  return text;
}

absl::Status check_inputs(const JitDeclaration& declaration, const std::vector<Tensor>& placeholders,
                          const std::vector<InputSpec>& specs, const NamedTensors& outputs) {
  std::vector<bool> read;
  for (const InputSpec& spec : specs) read.push_back(spec.bytes.has_value());
  for (const Node* node : graph_inputs(outputs)) {
    const auto at = std::find(declaration.inputs.begin(), declaration.inputs.end(), node->name);
    if (at == declaration.inputs.end()) {
      return with_kind(JitErrorKind::kBuild,
                       absl::InvalidArgumentError(str_cat(declaration.wrapper, ": the build body reads an input '",
                                                          node->name, "' of its own; declared are ",
                                                          absl::StrJoin(quoted(declaration.inputs), ", "))));
    }
    const auto index = static_cast<std::size_t>(at - declaration.inputs.begin());
    if (placeholders[index].node().get() != node) {
      return with_kind(JitErrorKind::kDuplicateInputBuffer,
                       absl::AlreadyExistsError(str_cat(declaration.wrapper, ": the build body records an input '",
                                                        node->name, "' of its own beside the declared one")));
    }
    read[index] = true;
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i]) continue;
    return with_kind(JitErrorKind::kInputBufferNotFound,
                     absl::NotFoundError(str_cat(declaration.wrapper, ": input '", declaration.inputs[i],
                                                 "' is declared but the built graph does not read it")));
  }
  return absl::OkStatus();
}

absl::StatusOr<NamedTensors> record(
    const std::vector<Tensor>& inputs, const std::vector<Dim>& vars,
    const std::function<BuildResult(std::span<const Tensor>, std::span<const Dim>)>& build) {
  try {
    const BuildResult built = build(inputs, vars);
    if (built.outputs() == nullptr) return build_failed(built.status());
    return *built.outputs();
  } catch (const JitError& error) {
    // An op's own has no kind yet; one that has was an error that the body was given by something else.
    if (jit_error_kind(error.status())) return build_failed(error.status(), std::current_exception());
    return with_kind(JitErrorKind::kTensor, error.status());
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled
  } catch (...) {
    return build_failed(std::current_exception());
  }
}

// An input whose value is known: the body sees its elements, the prepared plan refuses others.
Tensor constant_of(const std::string& name, const InputSpec& spec, FixedInputs* fixed, const Loc& loc) {
  const std::vector<std::int64_t> shape = const_shape(spec.shape);
  const ArrayView value(spec.bytes->data(), spec.bytes->size(), spec.dtype, shape);
  if (absl::Status checked = check_array(value, str_cat("the constant of input '", name, "'")); !checked.ok())
    throw JitError(checked);
  fixed->push_back({name, spec.dtype, shape, *spec.bytes});
  return constant(spec.shape, spec.dtype, *spec.bytes, loc);
}

std::vector<std::uint32_t> input_ids(const JitDeclaration& declaration, const runtime::Plan& plan) {
  std::vector<std::uint32_t> ids;
  for (const std::string& name : declaration.inputs) {
    for (std::uint32_t i = 0; i < plan.buffers.size(); ++i) {
      if (plan.buffers[i].kind == v1::PlanBuffer::INPUT && plan.buffers[i].name == name) ids.push_back(i);
    }
  }
  return ids;
}

}  // namespace

void JitDeclaration::set_max(std::size_t var, std::int64_t max, const Loc& loc) {
  if (max < vars[var].min) {
    refuse_bound(wrapper, "_bound", vars[var].name, str_cat("max is ", max, ", below the lower bound ", vars[var].min),
                 loc);
  }
  vars[var].max = max;
}

void JitDeclaration::set_min(std::size_t var, std::int64_t min, const Loc& loc) {
  if (min < 0 || min > vars[var].max) {
    refuse_bound(wrapper, "_min_bound", vars[var].name,
                 str_cat("min is ", min, "; expected 0 to the upper bound ", vars[var].max), loc);
  }
  vars[var].min = min;
}

void JitDeclaration::fix(std::size_t var, std::int64_t value, const Loc& loc) {
  if (value <= 0)
    refuse_bound(wrapper, "_fixed", vars[var].name, str_cat("value is ", value, "; expected 1 or more"), loc);
  vars[var].min = vars[var].max = value;
}

Dim JitDeclaration::dim(std::size_t var) const {
  const Variable& bounds = vars[var];
  return bounds.min == bounds.max ? Dim(bounds.max) : Dim::variable(bounds.name, bounds.min, bounds.max, bounds.parts);
}

struct PreparedJit::State {
  std::shared_ptr<const Shared> shared;
  Instance instance;
};

PreparedJit::PreparedJit() = default;
PreparedJit::PreparedJit(PreparedJit&&) noexcept = default;
PreparedJit& PreparedJit::operator=(PreparedJit&&) noexcept = default;
PreparedJit::~PreparedJit() = default;

absl::Status PreparedJit::not_prepared(std::string_view call) const {
  return with_kind(JitErrorKind::kNotPrepared,
                   absl::FailedPreconditionError(str_cat(call, "() before prepare(), or after a move")));
}

absl::Status PreparedJit::set_vars(std::span<const VarValue> vars, std::string_view call) {
  if (!state_) return not_prepared(call);
  const std::vector<Variable>& declared = state_->shared->declaration.vars;
  for (const auto& [name, value] : vars) {
    const auto var = std::find_if(declared.begin(), declared.end(), [&](const Variable& v) { return v.name == name; });
    if (var == declared.end()) {
      std::vector<std::string> names;
      for (const Variable& known : declared) names.push_back(known.name);
      return with_kind(JitErrorKind::kRuntime,
                       absl::NotFoundError(str_cat(call, ": there is no variable '", name, "'; declared are: ",
                                                   names.empty() ? "none" : absl::StrJoin(quoted(names), ", "))));
    }
    if (value < var->min || value > var->max) {
      return with_kind(JitErrorKind::kRuntime,
                       absl::OutOfRangeError(str_cat(call, ": variable '", name, "' cannot be ", value, "; expected ",
                                                     var->min, " to ", var->max)));
    }
  }
  for (const VariableInfo& variable : state_->shared->plan.variables()) {
    std::int64_t chosen = variable.max;
    for (const auto& [name, value] : vars) {
      if (name == variable.name) chosen = value;
    }
    const absl::Status set = state_->instance.set_var(variable.name, chosen);
    if (!set.ok()) return with_kind(JitErrorKind::kRuntime, set);
  }
  return absl::OkStatus();
}

absl::Status PreparedJit::execute_with_vars(std::span<const VarValue> vars) {
  HEARTH_RETURN_IF_ERROR(set_vars(vars, "execute"));
  return with_kind(JitErrorKind::kRuntime, state_->instance.execute());
}

absl::StatusOr<Profile> PreparedJit::execute_with_vars_profiled(std::span<const VarValue> vars) {
  HEARTH_RETURN_IF_ERROR(set_vars(vars, "execute_profiled"));
  absl::StatusOr<Profile> profile = state_->instance.execute_profiled();
  if (!profile.ok()) return with_kind(JitErrorKind::kRuntime, profile.status());
  return profile;
}

absl::StatusOr<ConstView> PreparedJit::output() const {
  if (!state_) return not_prepared("output");
  return output(state_->shared->plan.outputs().front().name);
}

absl::StatusOr<ConstView> PreparedJit::output(std::string_view name) const {
  if (!state_) return not_prepared("output");
  absl::StatusOr<ConstView> view = state_->instance.output(name);
  if (!view.ok()) return with_kind(JitErrorKind::kRuntime, view.status());
  return view;
}

absl::Status PreparedJit::bind_input(std::string_view name, const void* data, std::size_t size_bytes) {
  if (!state_) return not_prepared("bind_input");
  return with_kind(JitErrorKind::kRuntime, state_->instance.bind_input(name, data, size_bytes));
}

absl::Status PreparedJit::unbind_input(std::string_view name) {
  if (!state_) return not_prepared("unbind_input");
  return with_kind(JitErrorKind::kRuntime, state_->instance.unbind_input(name));
}

absl::Status PreparedJit::carry(std::string_view output, std::string_view input) {
  if (!state_) return not_prepared("carry");
  return with_kind(JitErrorKind::kRuntime, state_->instance.carry(output, input));
}

absl::Status PreparedJit::set_carried(std::string_view input, const void* data, std::size_t size_bytes) {
  if (!state_) return not_prepared("set_carried");
  return with_kind(JitErrorKind::kRuntime, state_->instance.set_carried(input, data, size_bytes));
}

absl::StatusOr<MutableView> PreparedJit::input(std::size_t index) {
  if (!state_) return not_prepared("an input");
  const std::string& name = state_->shared->declaration.inputs[index];
  absl::StatusOr<MutableView> view = state_->instance.input(name);
  if (!view.ok()) return with_kind(JitErrorKind::kRuntime, view.status());
  for (const ValueInfo& info : state_->shared->plan.inputs()) {
    if (info.name != name) continue;
    view->size_bytes = info.max_bytes;
    view->shape = info.max_shape;
  }
  return view;
}

absl::StatusOr<PreparedJit> PreparedJit::instantiate() const {
  if (!state_) return not_prepared("instantiate");
  absl::StatusOr<Instance> instance = state_->shared->plan.instantiate();
  if (!instance.ok()) return with_kind(JitErrorKind::kDevice, instance.status());
  PreparedJit jit;
  jit.state_ = std::make_unique<State>(State{state_->shared, *std::move(instance)});
  return jit;
}

absl::StatusOr<std::span<const BufferInfo>> PreparedJit::buffers() const {
  if (!state_) return not_prepared("buffers");
  return std::span(loaded_plan(state_->shared->plan).buffers());
}

absl::StatusOr<ConstView> PreparedJit::buffer(std::uint32_t id) const {
  if (!state_) return not_prepared("buffer");
  absl::StatusOr<ConstView> view = state_->instance.buffer(id);
  if (!view.ok()) return with_kind(JitErrorKind::kRuntime, view.status());
  return view;
}

absl::StatusOr<std::vector<ConstView>> PreparedJit::output_buffers() const {
  if (!state_) return not_prepared("output_buffers");
  std::vector<ConstView> views;
  for (const ValueInfo& info : state_->shared->plan.outputs()) {
    HEARTH_ASSIGN_OR_RETURN(ConstView view, output(info.name));
    views.push_back(std::move(view));
  }
  return views;
}

absl::StatusOr<std::vector<std::uint32_t>> PreparedJit::input_buffer_ids() const {
  if (!state_) return not_prepared("input_buffer_ids");
  return state_->shared->input_ids;
}

absl::StatusOr<std::vector<KernelInfo>> PreparedJit::prepared_kernels() const {
  if (!state_) return not_prepared("prepared_kernels");
  std::vector<KernelInfo> kernels;
  for (const runtime::PlanKernel& kernel : loaded_plan(state_->shared->plan).plan().kernels)
    kernels.push_back({kernel.symbol, kernel.num_ops});
  return kernels;
}

absl::StatusOr<PrepareStats> PreparedJit::stats() const {
  if (!state_) return not_prepared("stats");
  return state_->shared->plan.stats();
}

absl::StatusOr<PreparedPlan> PreparedJit::plan() const {
  if (!state_) return not_prepared("plan");
  return state_->shared->plan;
}

absl::StatusOr<PreparedJit> prepare_wrapped(
    const JitDeclaration& declaration, std::shared_ptr<const void> model, const std::vector<InputSpec>& specs,
    const PrepareConfig& config, const std::function<BuildResult(std::span<const Tensor>, std::span<const Dim>)>& build,
    const Loc& loc) {
  std::vector<Tensor> inputs;
  std::vector<Dim> vars;
  PrepareConfig with_fixed = config;
  const absl::StatusOr<bool> placed = catch_jit_error([&] {
    const OpScope scope(declaration.wrapper, loc);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      inputs.push_back(specs[i].bytes ? constant_of(declaration.inputs[i], specs[i], &with_fixed.fixed_inputs, loc)
                                      : input(declaration.inputs[i], specs[i].shape, specs[i].dtype, loc));
    }
    for (std::size_t i = 0; i < declaration.vars.size(); ++i) vars.push_back(declaration.dim(i));
    return true;
  });
  if (!placed.ok()) return with_kind(JitErrorKind::kTensor, placed.status());
  HEARTH_ASSIGN_OR_RETURN(NamedTensors outputs, record(inputs, vars, build));
  HEARTH_RETURN_IF_ERROR(check_inputs(declaration, inputs, specs, outputs));
  if (const auto target = target_for(config); !target.ok()) return with_kind(JitErrorKind::kDevice, target.status());
  absl::StatusOr<PreparedPlan> plan = prepare(outputs, with_fixed);
  if (!plan.ok()) {
    const bool graph = absl::IsInvalidArgument(plan.status());
    return with_kind(graph ? JitErrorKind::kTensor : JitErrorKind::kDevice, plan.status());
  }
  absl::StatusOr<Instance> instance = plan->instantiate();
  if (!instance.ok()) return with_kind(JitErrorKind::kDevice, instance.status());
  std::vector<std::uint32_t> ids = input_ids(declaration, loaded_plan(*plan).plan());
  auto shared = std::make_shared<const Shared>(Shared{declaration, std::move(model), *std::move(plan), std::move(ids)});
  PreparedJit jit;
  jit.state_ = std::make_unique<PreparedJit::State>(PreparedJit::State{std::move(shared), *std::move(instance)});
  return jit;
}

}  // namespace hearth::client
