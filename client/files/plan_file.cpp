#include "hearth/plan_file.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/files/plan_file_contents.h"
#include "client/files/plan_file_format.h"
#include "client/files/plan_file_signature.h"
#include "client/jit/prepared_state.h"
#include "hearth/array.h"
#include "hearth/stored_type.h"
#include "hearth/v1/plan_file.pb.h"
#include "runtime/devices/devices.h"

namespace hearth::client {
namespace {

using Section = v1::PlanFileSection;

std::string label(const Section& section, int index) {
  switch (section.kind()) {
    case Section::PLAN:
      return "the plan";
    case Section::ARTIFACT:
      return str_cat("artifact ", to_hex(section.sha256()));
    case Section::PARAMETER:
      return str_cat("parameter '", section.name(), "'");
    default:
      return str_cat("section ", index);
  }
}

absl::StatusOr<runtime::ParameterBytes> external_parameter(const Section& section, const LoadPlanConfig& config) {
  const std::string what = label(section, 0);
  const auto given = config.parameters.find(section.name());
  if (given == config.parameters.end()) {
    return absl::InvalidArgumentError(
        str_cat(what, " is not in the file and not given; it needs ", section.size(), " bytes"));
  }
  const ParameterData& data = given->second;
  if (data.size != section.size()) {
    return absl::InvalidArgumentError(
        str_cat(what, " is given ", data.size, " bytes; the plan needs ", section.size()));
  }
  if (data.size > 0 && !data.data) return absl::InvalidArgumentError(str_cat(what, " is given a null pointer"));
  const absl::StatusOr<Digest> digest = runtime::sha256_mapped({static_cast<const char*>(data.data), data.size});
  if (!digest.ok()) return absl::Status(digest.status().code(), str_cat(what, ": ", digest.status().message()));
  if (to_bytes(*digest) != section.sha256()) {
    return absl::InvalidArgumentError(str_cat(what, " is given other bytes than the plan was exported with"));
  }
  return runtime::ParameterBytes{data.data, data.size, data.owner};
}

absl::Status read_sections(const std::shared_ptr<const void>& owner, const v1::PlanFileManifest& manifest,
                           SectionReader& reader, const LoadPlanConfig& config, PreparedPlan::State& state) {
  std::set<std::string> held;
  for (int i = 0; i < manifest.sections_size(); ++i) {
    const Section& section = manifest.sections(i);
    const std::string what = label(section, i);
    const bool is_plan = section.kind() == Section::PLAN, is_parameter = section.kind() == Section::PARAMETER;
    if (is_plan != (i == 0) || (!is_plan && !is_parameter && section.kind() != Section::ARTIFACT) ||
        (section.external() && !is_parameter)) {
      return absl::InvalidArgumentError(str_cat(what, " does not belong at place ", i, " of the manifest"));
    }
    if (section.external()) {
      HEARTH_ASSIGN_OR_RETURN(auto given, external_parameter(section, config));
      state.source.parameters[section.name()] = std::move(given);
      continue;
    }
    HEARTH_ASSIGN_OR_RETURN(const auto bytes, reader.take(section.size(), section.sha256(), what));
    if (is_plan) {
      state.plan_bytes = std::string(bytes);
    } else if (is_parameter) {
      state.source.parameters[section.name()] = {bytes.data(), bytes.size(), owner};
      held.insert(section.name());
    } else {
      state.source.artifacts.push_back({section.sha256(), "", std::string(bytes)});
    }
  }
  if (!reader.at_end()) return reader.damaged("bytes follow the last section");
  for (const auto& [name, data] : config.parameters) {
    if (held.count(name) != 0)
      return absl::InvalidArgumentError(str_cat("parameter '", name, "' is given and in the file"));
    if (state.source.parameters.count(name) == 0) {
      return absl::InvalidArgumentError(str_cat("parameter '", name, "' is given; the plan has none of this name"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<FixedInputs> read_fixed(const v1::PlanFileManifest& manifest) {
  FixedInputs inputs;
  for (const v1::PlanFileFixedInput& written : manifest.fixed_inputs()) {
    const std::string what = str_cat("the fixed input '", written.name(), "'");
    const std::optional<DType> dtype = dtype_from_wire(static_cast<int>(written.dtype()));
    if (written.name().empty() || !dtype)
      return absl::InvalidArgumentError(str_cat(what, " has no name, or dtype ", written.dtype(), ", which is none"));
    const FixedInput input{written.name(), *dtype, {written.shape().begin(), written.shape().end()}, written.data()};
    const ArrayView value(input.bytes.data(), input.bytes.size(), input.dtype, input.shape);
    HEARTH_RETURN_IF_ERROR(check_array(value, what));
    inputs.push_back(input);
  }
  return inputs;
}

// Its names must be those of the plan: every input once, results among the outputs.
absl::StatusOr<CallSignature> read_call(const v1::PlanFileManifest& manifest, const PreparedPlan& plan) {
  CallSignature call;
  std::set<std::string> inputs, outputs;
  const auto check_stored = [](std::string_view what, const std::string& name, const std::string& stored) {
    if (stored.empty() || is_stored_type(stored)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        str_cat("the call's ", what, " '", name, "' is of the unknown type '", stored, "'"));
  };
  for (const v1::PlanFileCall::Input& written : manifest.call().inputs()) {
    const std::optional<DType> dtype = dtype_from_wire(static_cast<int>(written.dtype()));
    if (!dtype || !inputs.insert(written.name()).second)
      return absl::InvalidArgumentError(
          str_cat("the call's input '", written.name(), "' is there twice or of no dtype"));
    HEARTH_RETURN_IF_ERROR(check_stored("input", written.name(), written.stored()));
    call.inputs.push_back(
        {written.name(), *dtype, {}, 0, {written.lengths().begin(), written.lengths().end()}, written.stored()});
  }
  for (const ValueInfo& output : plan.outputs()) outputs.insert(output.name);
  for (const v1::PlanFileCall::Result& written : manifest.call().results()) {
    const bool is_known = outputs.contains(written.name()) &&
                          (written.length_output().empty() || outputs.contains(written.length_output()));
    if (!is_known) return absl::InvalidArgumentError(str_cat("the call's result '", written.name(), "' is no output"));
    HEARTH_RETURN_IF_ERROR(check_stored("result", written.name(), written.stored()));
    call.results.push_back({written.name(), written.length_output(), written.length_axis(), written.stored()});
  }
  if (call.empty()) return call;
  const auto check_input = [&](const std::string& name) {
    if (inputs.contains(name)) return absl::OkStatus();
    return absl::InvalidArgumentError(str_cat("the plan's input '", name, "' is none of the call's"));
  };
  for (const ValueInfo& input : plan.inputs()) HEARTH_RETURN_IF_ERROR(check_input(input.name));
  for (const FixedInput& input : plan.fixed_inputs()) HEARTH_RETURN_IF_ERROR(check_input(input.name));
  if (call.results.empty()) return absl::InvalidArgumentError("the call has no results");
  return call;
}

absl::StatusOr<Subnormals> subnormals_of(const v1::PlanFileManifest& manifest) {
  if (manifest.subnormals().empty()) return Subnormals::kResults;
  const std::optional<Subnormals> subnormals = subnormals_from_name(manifest.subnormals());
  if (subnormals) return *subnormals;
  return absl::InvalidArgumentError(
      str_cat("subnormals is '", manifest.subnormals(), "'; expected keep, results or all"));
}

// Leaves the reader at the first section. `config`: null where nothing is run.
absl::StatusOr<v1::PlanFileManifest> read_manifest(SectionReader& reader, const LoadPlanConfig* config) {
  HEARTH_ASSIGN_OR_RETURN(const auto text, reader.take_manifest());
  v1::PlanFileManifest manifest;
  const google::protobuf::LogSilencer quiet;  // the status says it
  if (!manifest.ParseFromArray(text.data(), static_cast<int>(text.size())) || manifest.sections_size() == 0) {
    return absl::InvalidArgumentError("the manifest is not one this version understands");
  }
  if (config != nullptr) HEARTH_RETURN_IF_ERROR(check_signed(text, manifest, config->trusted_keys));
  return manifest;
}

absl::StatusOr<PlanFileContents> read_contents(std::string_view file) {
  PlanFileContents contents;
  contents.file_bytes = file.size();
  HEARTH_ASSIGN_OR_RETURN(SectionReader reader, SectionReader::open(file, kPlanFile));
  HEARTH_ASSIGN_OR_RETURN(v1::PlanFileManifest manifest, read_manifest(reader, nullptr));
  contents.manifest = std::move(manifest);
  const Section& first = contents.manifest.sections(0);
  HEARTH_ASSIGN_OR_RETURN(const auto plan, reader.take(first.size(), first.sha256(), label(first, 0)));
  HEARTH_RETURN_IF_ERROR(runtime::parse_plan(plan).status());
  contents.plan.ParseFromArray(plan.data(), static_cast<int>(plan.size()));
  return contents;
}

absl::StatusOr<PreparedPlan> load(std::string_view file, const std::shared_ptr<const void>& owner,
                                  const LoadPlanConfig& config, std::chrono::steady_clock::time_point start) {
  HEARTH_ASSIGN_OR_RETURN(SectionReader reader, SectionReader::open(file, kPlanFile));
  HEARTH_ASSIGN_OR_RETURN(const v1::PlanFileManifest read, read_manifest(reader, &config));
  const v1::PlanFileManifest& manifest = read;
  HEARTH_ASSIGN_OR_RETURN(const int threads,
                          choose_threads(config.threads > 0 ? config.threads : static_cast<int>(manifest.threads())));
  auto state = std::make_shared<PreparedPlan::State>();
  HEARTH_RETURN_IF_ERROR(read_sections(owner, manifest, reader, config, *state));
  HEARTH_ASSIGN_OR_RETURN(FixedInputs fixed, read_fixed(manifest));
  state->fixed_inputs = std::make_shared<FixedInputs>(std::move(fixed));
  state->source.plan = state->plan_bytes;
  HEARTH_ASSIGN_OR_RETURN(const Subnormals subnormals, subnormals_of(manifest));
  state->source.host = {threads, config.subnormals.value_or(subnormals)};
  if (!config.device.empty()) {
    HEARTH_ASSIGN_OR_RETURN(const runtime::Device* const device, runtime::find_device(config.device));
    state->source.device = device;
  }
  state->source.find = &runtime::find_device;  // else the one for which it was saved
  HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<const runtime::LoadedPlan> plan, runtime::LoadedPlan::create(state->source));
  state->plan = std::move(plan);
  state->carried = carried_by(state->plan->plan());
  state->stats.device_notes = state->plan->device().notes();
  state->stats.kernels = static_cast<std::uint32_t>(state->plan->plan().kernels.size());
  state->stats.once_launches = state->plan->weights().once_launches;
  state->device = state->plan->device().name();
  state->threads = threads;
  state->stats.prepare_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const PreparedPlan loaded(state);
  HEARTH_ASSIGN_OR_RETURN(state->call, read_call(manifest, loaded));
  return loaded;
}

// An error about the file at `path`, in one line whatever the names in the file hold.
absl::Status error_of(const std::string& path, const absl::Status& status) {
  std::string line;
  for (const char byte : str_cat(path, ": ", std::string(status.message()))) {
    const bool is_control = static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
    line += is_control ? absl::CHexEscape(std::string(1, byte)) : std::string(1, byte);
  }
  return absl::Status(status.code(), line);
}

}  // namespace

absl::StatusOr<PreparedPlan> load_plan(const std::string& path, const LoadPlanConfig& config) {
  const auto start = std::chrono::steady_clock::now();
  HEARTH_ASSIGN_OR_RETURN(const std::shared_ptr<const runtime::MappedFile> file, runtime::MappedFile::open(path));
  absl::StatusOr<PreparedPlan> plan = load(file->bytes(), file, config, start);
  if (plan.ok()) return plan;
  return error_of(path, plan.status());
}

absl::StatusOr<PreparedPlan> load_plan_bytes(std::string_view bytes, const LoadPlanConfig& config,
                                             std::shared_ptr<const void> owner) {
  const auto start = std::chrono::steady_clock::now();
  if (owner == nullptr || reinterpret_cast<std::uintptr_t>(bytes.data()) % kSectionAlignment != 0) {
    const std::shared_ptr<void> copy(::operator new(bytes.size() + 1, std::align_val_t(kSectionAlignment)),
                                     [](void* at) { ::operator delete(at, std::align_val_t(kSectionAlignment)); });
    if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
    bytes = {static_cast<const char*>(copy.get()), bytes.size()};
    owner = copy;
  }
  absl::StatusOr<PreparedPlan> plan = load(bytes, owner, config, start);
  if (plan.ok()) return plan;
  return error_of("the plan", plan.status());
}

absl::StatusOr<PlanFileContents> read_plan_file(const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(const std::shared_ptr<const runtime::MappedFile> file, runtime::MappedFile::open(path));
  absl::StatusOr<PlanFileContents> contents = read_contents(file->bytes());
  if (contents.ok()) return contents;
  return error_of(path, contents.status());
}

bool is_plan_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // opening a pipe waits, reading takes from it
  std::string start(kPlanFile.magic.size(), '\0');
  std::ifstream(path, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
  return start == kPlanFile.magic;
}

}  // namespace hearth::client
