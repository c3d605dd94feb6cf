// Plans of the C ABI.
#include <algorithm>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/c_abi/handles.h"

using hearth::c_abi::check_given;
using hearth::c_abi::check_index;
using hearth::c_abi::check_struct;
using hearth::c_abi::guarded;
using hearth::client::PrepareConfig;

namespace {

// Sets one field of the options.
template <typename F>
hearth_code set_option(hearth_prepare_options* options, hearth_error** error, F&& set) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{options, "options"}}));
    return set(options->config);
  });
}

absl::Status describe(const std::vector<hearth::client::ValueInfo>& values, std::size_t index, std::string_view what,
                      hearth_value_info* info) {
  HEARTH_RETURN_IF_ERROR(check_struct(info, "info", sizeof(hearth_value_info)));
  HEARTH_RETURN_IF_ERROR(check_index(index, values.size(), what));
  const hearth::client::ValueInfo& value = values[index];
  info->name = value.name.c_str();
  info->dtype = static_cast<hearth_dtype>(value.dtype);
  info->max_shape = value.max_shape.data();
  info->rank = value.max_shape.size();
  info->max_bytes = value.max_bytes;
  return absl::OkStatus();
}

}  // namespace

extern "C" {

hearth_prepare_options* hearth_prepare_options_new(void) { return new (std::nothrow) hearth_prepare_options(); }

hearth_code hearth_prepare_options_from_env(hearth_prepare_options** options, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{options, "options"}}));
    HEARTH_ASSIGN_OR_RETURN(PrepareConfig config, PrepareConfig::from_env());
    *options = new hearth_prepare_options{std::move(config)};
    return absl::OkStatus();
  });
}

void hearth_prepare_options_free(hearth_prepare_options* options) { delete options; }

hearth_code hearth_prepare_options_set_device(hearth_prepare_options* options, const char* device,
                                              hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{device, "device"}}));
    config.device = device;
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_socket(hearth_prepare_options* options, const char* path, hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) {
    config.socket = path == nullptr ? "" : path;
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_threads(hearth_prepare_options* options, int threads, hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) -> absl::Status {
    if (threads < 0) return absl::InvalidArgumentError(hearth::str_cat("threads is ", threads));
    config.threads = threads;
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_deadline_ms(hearth_prepare_options* options, int64_t deadline_ms,
                                                   hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) -> absl::Status {
    constexpr int64_t kLongest = int64_t{365} * 24 * 3600 * 1000;
    if (deadline_ms < 1 || deadline_ms > kLongest) {
      return absl::InvalidArgumentError(
          hearth::str_cat("deadline_ms is ", deadline_ms, "; expected a number from 1 to ", kLongest));
    }
    config.deadline = std::chrono::milliseconds(deadline_ms);
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_auto_start(hearth_prepare_options* options, int auto_start,
                                                  hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) {
    config.auto_start = auto_start != 0;
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_opt_level(hearth_prepare_options* options, int opt_level, hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) -> absl::Status {
    if (opt_level < 0 || opt_level > 2)
      return absl::InvalidArgumentError(hearth::str_cat("opt_level is ", opt_level, "; expected 0, 1 or 2"));
    config.opt_level = static_cast<std::uint32_t>(opt_level);
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_fast_math(hearth_prepare_options* options, int fast_math, hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) {
    config.fast_math = fast_math != 0;
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_subnormals(hearth_prepare_options* options, const char* subnormals,
                                                  hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{subnormals, "subnormals"}}));
    const std::optional<hearth::Subnormals> read = hearth::subnormals_from_name(subnormals);
    if (!read) {
      return absl::InvalidArgumentError(
          hearth::str_cat("subnormals is '", subnormals, "'; expected keep, results or all"));
    }
    config.subnormals = read;
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_share_weights(hearth_prepare_options* options, int share_weights,
                                                     hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) {
    config.share_weights = share_weights != 0;
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_sealed(hearth_prepare_options* options, int sealed, hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) {
    config.sealed = sealed != 0;
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_add_carried(hearth_prepare_options* options, const char* output, const char* input,
                                               hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{output, "output"}, {input, "input"}}));
    config.carried.push_back({output, input});
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_progress(hearth_prepare_options* options, hearth_progress_fn progress,
                                                void* context, hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) {
    config.progress = nullptr;
    if (progress != nullptr) {
      config.progress = [progress, context](const hearth::client::PrepareProgress& now) {
        const auto state = static_cast<hearth_prepare_state>(now.state);
        if (state != HEARTH_PREPARE_PACKING) return progress(context, state, now.kernels_done, now.kernels_total);
        const auto mib = [](std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes >> 20); };
        progress(context, state, mib(now.bytes_done), mib(now.bytes_total));
      };
    }
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare_options_set_cancelled(hearth_prepare_options* options, hearth_cancelled_fn cancelled,
                                                 void* context, hearth_error** error) {
  return set_option(options, error, [&](PrepareConfig& config) {
    config.cancelled = nullptr;
    if (cancelled != nullptr) config.cancelled = [cancelled, context] { return cancelled(context) != 0; };
    return absl::OkStatus();
  });
}

hearth_code hearth_prepare(const hearth_graph* graph, const hearth_prepare_options* options, hearth_plan** plan,
                           hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{graph, "graph"}, {plan, "plan"}}));
    PrepareConfig config = options == nullptr ? PrepareConfig() : options->config;
    config.fixed_inputs = graph->model.fixed_inputs;
    HEARTH_ASSIGN_OR_RETURN(hearth::client::PreparedPlan prepared,
                            hearth::client::prepare(graph->model.outputs, config));
    *plan = new hearth_plan{std::move(prepared)};
    return absl::OkStatus();
  });
}

void hearth_plan_free(hearth_plan* plan) { delete plan; }

hearth_code hearth_plan_stats(const hearth_plan* plan, hearth_prepare_stats* stats, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}}));
    if (absl::Status checked = check_struct(stats, "stats", sizeof(hearth_prepare_stats)); !checked.ok())
      return checked;
    const hearth::client::PrepareStats& of = plan->plan.stats();
    stats->prepare_ms = of.prepare_ms;
    stats->kernels = of.kernels;
    stats->compiled_kernels = of.compiled_kernels;
    stats->cache_hits = of.cache_hits;
    stats->plan_hit = of.plan_hit ? 1 : 0;
    stats->joined = of.joined ? 1 : 0;
    stats->shared_weight_bytes = of.shared_weight_bytes;
    return absl::OkStatus();
  });
}

const char* hearth_plan_device(const hearth_plan* plan) {
  return plan == nullptr ? nullptr : plan->plan.device().c_str();
}
int hearth_plan_threads(const hearth_plan* plan) { return plan == nullptr ? 0 : plan->plan.threads(); }

size_t hearth_plan_num_inputs(const hearth_plan* plan) { return plan == nullptr ? 0 : plan->plan.inputs().size(); }
size_t hearth_plan_num_outputs(const hearth_plan* plan) { return plan == nullptr ? 0 : plan->plan.outputs().size(); }
size_t hearth_plan_num_variables(const hearth_plan* plan) {
  return plan == nullptr ? 0 : plan->plan.variables().size();
}

hearth_code hearth_plan_input(const hearth_plan* plan, size_t index, hearth_value_info* info, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}}));
    return describe(plan->plan.inputs(), index, "input", info);
  });
}

hearth_code hearth_plan_output(const hearth_plan* plan, size_t index, hearth_value_info* info, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}}));
    return describe(plan->plan.outputs(), index, "output", info);
  });
}

hearth_code hearth_plan_variable(const hearth_plan* plan, size_t index, const char** name, int64_t* min, int64_t* max,
                                 hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}}));
    const auto& variables = plan->plan.variables();
    HEARTH_RETURN_IF_ERROR(check_index(index, variables.size(), "variable"));
    if (name != nullptr) *name = variables[index].name.c_str();
    if (min != nullptr) *min = variables[index].min;
    if (max != nullptr) *max = variables[index].max;
    return absl::OkStatus();
  });
}

size_t hearth_plan_num_carried(const hearth_plan* plan) { return plan == nullptr ? 0 : plan->plan.carried().size(); }

hearth_code hearth_plan_carried(const hearth_plan* plan, size_t index, const char** output, const char** input,
                                hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}}));
    const auto& carried = plan->plan.carried();
    HEARTH_RETURN_IF_ERROR(check_index(index, carried.size(), "carried output"));
    if (output != nullptr) *output = carried[index].output.c_str();
    if (input != nullptr) *input = carried[index].input.c_str();
    return absl::OkStatus();
  });
}

}  // extern "C"
