// Plan files of the C ABI: from and to files and bytes.
#include "hearth/plan_file.h"

#include "base/status_macros.h"
#include "base/text.h"
#include "client/c_abi/handles.h"

using hearth::c_abi::check_given;
using hearth::c_abi::guarded;

namespace {

hearth::client::LoadPlanConfig load_config(const hearth_prepare_options* options) {
  if (options == nullptr) return {};
  return {.threads = options->config.threads, .device = options->config.device, .parameters = options->parameters};
}

absl::Status take(absl::StatusOr<hearth::client::PreparedPlan> loaded, hearth_plan** plan) {
  HEARTH_RETURN_IF_ERROR(loaded.status());
  *plan = new hearth_plan{*std::move(loaded)};
  return absl::OkStatus();
}

}  // namespace

extern "C" {

hearth_code hearth_prepare_options_add_parameter(hearth_prepare_options* options, const char* name, const void* data,
                                                 size_t size_bytes, void (*release)(void* context), void* context,
                                                 hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{options, "options"}, {name, "name"}}));
    if (size_bytes > 0 && data == nullptr) return absl::InvalidArgumentError("data is NULL");
    if (options->parameters.count(name) != 0)
      return absl::AlreadyExistsError(hearth::str_cat("parameter '", name, "' is given twice"));
    hearth::client::ParameterData parameter{data, size_bytes, nullptr};
    if (release != nullptr) {
      // What owns nothing until the call cannot fail any more.
      const auto armed = std::make_shared<bool>(false);
      parameter.owner = std::shared_ptr<const void>(data, [release, context, armed](const void*) {
        if (*armed) release(context);
      });
      options->parameters.emplace(name, std::move(parameter));
      *armed = true;
      return absl::OkStatus();
    }
    options->parameters.emplace(name, std::move(parameter));
    return absl::OkStatus();
  });
}

hearth_code hearth_plan_load(const char* path, const hearth_prepare_options* options, hearth_plan** plan,
                             hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{path, "path"}, {plan, "plan"}}));
    return take(hearth::client::load_plan(path, load_config(options)), plan);
  });
}

hearth_code hearth_plan_load_bytes(const void* data, size_t size_bytes, const hearth_prepare_options* options,
                                   hearth_plan** plan, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{data, "data"}, {plan, "plan"}}));
    return take(hearth::client::load_plan_bytes({static_cast<const char*>(data), size_bytes}, load_config(options)),
                plan);
  });
}

hearth_code hearth_plan_export(const hearth_plan* plan, const char* path, int with_parameters, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}, {path, "path"}}));
    return plan->plan.export_to(path, {.parameters = with_parameters != 0});
  });
}

hearth_code hearth_plan_export_bytes(const hearth_plan* plan, int with_parameters, hearth_bytes** bytes,
                                     hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}, {bytes, "bytes"}}));
    HEARTH_ASSIGN_OR_RETURN(std::string file, plan->plan.export_bytes({.parameters = with_parameters != 0}));
    *bytes = new hearth_bytes{std::move(file)};
    return absl::OkStatus();
  });
}

const void* hearth_bytes_data(const hearth_bytes* bytes) { return bytes == nullptr ? nullptr : bytes->bytes.data(); }
size_t hearth_bytes_size(const hearth_bytes* bytes) { return bytes == nullptr ? 0 : bytes->bytes.size(); }
void hearth_bytes_free(hearth_bytes* bytes) { delete bytes; }

}  // extern "C"
