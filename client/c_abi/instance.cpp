// Instances and profiles of the C ABI.
#include <cstring>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/c_abi/handles.h"

using hearth::c_abi::check_given;
using hearth::c_abi::check_struct;
using hearth::c_abi::guarded;
using hearth::client::ConstView;
using hearth::client::MutableView;

namespace {

// A call on an instance with a name.
template <typename F>
hearth_code named_call(hearth_instance* instance, const char* name, hearth_error** error, F&& call) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{instance, "instance"}, {name, "name"}}));
    return call(instance->instance);
  });
}

template <typename View>
void show(hearth_instance* instance, const View& from, hearth_view* view) {
  instance->shape = from.shape;
  view->data = const_cast<void*>(static_cast<const void*>(from.data));
  view->size_bytes = from.size_bytes;
  view->dtype = static_cast<hearth_dtype>(from.dtype);
  view->shape = instance->shape.data();
  view->rank = instance->shape.size();
}

absl::Status check_bytes(const void* data, std::size_t size_bytes) {
  return size_bytes > 0 ? check_given({{data, "data"}}) : absl::OkStatus();
}

}  // namespace

extern "C" {

hearth_code hearth_plan_instantiate(const hearth_plan* plan, hearth_instance** instance, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}, {instance, "instance"}}));
    HEARTH_ASSIGN_OR_RETURN(hearth::client::Instance made, plan->plan.instantiate());
    *instance = new hearth_instance{std::move(made)};
    return absl::OkStatus();
  });
}

hearth_code hearth_plan_instantiate_threads(const hearth_plan* plan, int threads, hearth_instance** instance,
                                            hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}, {instance, "instance"}}));
    HEARTH_ASSIGN_OR_RETURN(const int chosen, hearth::client::choose_threads(threads));
    HEARTH_ASSIGN_OR_RETURN(hearth::client::Instance made, plan->plan.instantiate({.threads = chosen}));
    *instance = new hearth_instance{std::move(made)};
    return absl::OkStatus();
  });
}

void hearth_instance_free(hearth_instance* instance) { delete instance; }

hearth_code hearth_instance_set_variable(hearth_instance* instance, const char* name, int64_t value,
                                         hearth_error** error) {
  return named_call(instance, name, error, [&](auto& run) { return run.set_var(name, value); });
}

hearth_code hearth_instance_bind_input(hearth_instance* instance, const char* name, const void* data, size_t size_bytes,
                                       hearth_error** error) {
  return named_call(instance, name, error, [&](auto& run) -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_bytes(data, size_bytes));
    return run.bind_input(name, data, size_bytes);
  });
}

hearth_code hearth_instance_bind_output(hearth_instance* instance, const char* name, void* data, size_t size_bytes,
                                        hearth_error** error) {
  return named_call(instance, name, error, [&](auto& run) -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_bytes(data, size_bytes));
    return run.bind_output(name, data, size_bytes);
  });
}

hearth_code hearth_instance_unbind_input(hearth_instance* instance, const char* name, hearth_error** error) {
  return named_call(instance, name, error, [&](auto& run) -> absl::Status { return run.unbind_input(name); });
}

hearth_code hearth_instance_set_input(hearth_instance* instance, const char* name, const void* data, size_t size_bytes,
                                      hearth_error** error) {
  return named_call(instance, name, error, [&](auto& run) -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_bytes(data, size_bytes));
    HEARTH_RETURN_IF_ERROR(run.unbind_input(name));
    HEARTH_ASSIGN_OR_RETURN(const MutableView view, run.input(name));
    if (view.size_bytes != size_bytes) {
      return absl::InvalidArgumentError(
          hearth::str_cat("input '", name, "' takes ", view.size_bytes, " bytes, ", size_bytes, " are given"));
    }
    if (size_bytes > 0) std::memcpy(view.data, data, size_bytes);
    return absl::OkStatus();
  });
}

hearth_code hearth_instance_input(hearth_instance* instance, const char* name, hearth_view* view,
                                  hearth_error** error) {
  return named_call(instance, name, error, [&](auto& run) -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_struct(view, "view", sizeof(hearth_view)));
    const absl::StatusOr<MutableView> input = run.input(name);
    if (input.ok()) show(instance, *input, view);
    return input.status();
  });
}

hearth_code hearth_instance_output(hearth_instance* instance, const char* name, hearth_view* view,
                                   hearth_error** error) {
  return named_call(instance, name, error, [&](auto& run) -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_struct(view, "view", sizeof(hearth_view)));
    const absl::StatusOr<ConstView> output = run.output(name);
    if (output.ok()) show(instance, *output, view);
    return output.status();
  });
}

hearth_code hearth_instance_carry(hearth_instance* instance, const char* output, const char* input,
                                  hearth_error** error) {
  return named_call(instance, output, error, [&](auto& run) -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{input, "input"}}));
    return run.carry(output, input);
  });
}

hearth_code hearth_instance_set_carried(hearth_instance* instance, const char* input, const void* data,
                                        size_t size_bytes, hearth_error** error) {
  return named_call(instance, input, error, [&](auto& run) { return run.set_carried(input, data, size_bytes); });
}

hearth_code hearth_instance_execute(hearth_instance* instance, hearth_error** error) {
  if (error != nullptr) *error = nullptr;
  if (instance == nullptr) return hearth::c_abi::end_call(absl::InvalidArgumentError("instance is NULL"), error);
  return guarded(error, [&] { return instance->instance.execute(); });
}

hearth_code hearth_instance_execute_profiled(hearth_instance* instance, hearth_profile** profile,
                                             hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{instance, "instance"}, {profile, "profile"}}));
    const absl::StatusOr<hearth::client::Profile> ran = instance->instance.execute_profiled();
    if (ran.ok()) *profile = new hearth_profile{ran->total_ns, ran->by_kernel()};
    return ran.status();
  });
}

void hearth_profile_free(hearth_profile* profile) { delete profile; }
uint64_t hearth_profile_total_ns(const hearth_profile* profile) { return profile == nullptr ? 0 : profile->total_ns; }
size_t hearth_profile_num_kernels(const hearth_profile* profile) {
  return profile == nullptr ? 0 : profile->rows.size();
}

hearth_code hearth_profile_kernel(const hearth_profile* profile, size_t index, const char** symbol, uint64_t* launches,
                                  uint64_t* time_ns, uint64_t* num_ops, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{profile, "profile"}}));
    if (index >= profile->rows.size())
      return absl::OutOfRangeError(hearth::str_cat("kernel ", index, " of ", profile->rows.size()));
    const hearth::client::Profile::Row& row = profile->rows[index];
    if (symbol != nullptr) *symbol = row.kernel.c_str();
    if (launches != nullptr) *launches = row.launches;
    if (time_ns != nullptr) *time_ns = row.time_ns;
    if (num_ops != nullptr) *num_ops = row.num_ops;
    return absl::OkStatus();
  });
}

}  // extern "C"
