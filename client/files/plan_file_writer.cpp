// PreparedPlan's exports: what a plan file is made of, to a file or to memory.
#include <utility>

#include "base/file.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/files/plan_file_format.h"
#include "client/files/plan_file_signature.h"
#include "client/jit/prepared_state.h"
#include "hearth/plan_file.h"
#include "hearth/v1/plan_file.pb.h"

namespace hearth::client {
namespace {

using Section = v1::PlanFileSection;

class Writer {
 public:
  // `bytes` stay alive until the file is written.
  absl::Status add(Section::Kind kind, const std::string& name, std::string_view bytes, bool external = false) {
    const absl::StatusOr<Digest> digest = runtime::sha256_mapped(bytes);
    if (!digest.ok()) return absl::Status(digest.status().code(), str_cat("'", name, "': ", digest.status().message()));
    Section* section = manifest_.add_sections();
    section->set_kind(kind);
    section->set_name(name);
    section->set_size(bytes.size());
    section->set_sha256(to_bytes(*digest));
    section->set_external(external);
    if (!external) sections_.push_back(bytes);
    return absl::OkStatus();
  }

  void add_fixed(const FixedInput& input) {
    v1::PlanFileFixedInput* written = manifest_.add_fixed_inputs();
    written->set_name(input.name);
    written->set_dtype(static_cast<std::uint32_t>(input.dtype));
    for (const std::int64_t length : input.shape) written->add_shape(length);
    written->set_data(input.bytes);
  }

  void set_call(const CallSignature& call) {
    if (call.empty()) return;
    for (const ValueInfo& input : call.inputs) {
      v1::PlanFileCall::Input* written = manifest_.mutable_call()->add_inputs();
      written->set_name(input.name);
      written->set_dtype(static_cast<std::uint32_t>(input.dtype));
      for (const std::string& length : input.lengths) written->add_lengths(length);
      written->set_stored(input.stored);
    }
    for (const CallSignature::Result& result : call.results) {
      v1::PlanFileCall::Result* written = manifest_.mutable_call()->add_results();
      written->set_name(result.name);
      written->set_length_output(result.length_output);
      written->set_length_axis(static_cast<std::uint32_t>(result.length_axis));
      written->set_stored(result.stored);
    }
  }

  // Hands the file's parts to `take`, which they live as long as.
  template <typename Take>
  absl::Status write(const runtime::HostWork& host, const std::string& signing_key, Take&& take) {
    manifest_.set_threads(static_cast<std::uint32_t>(host.threads));
    manifest_.set_subnormals(std::string(subnormals_name(host.subnormals)));
    std::string manifest = manifest_.SerializeAsString();
    if (!signing_key.empty()) {
      HEARTH_ASSIGN_OR_RETURN(manifest, signed_manifest(std::move(manifest), signing_key));
    }
    return write_sections(kPlanFile, manifest, sections_, std::forward<Take>(take));
  }

 private:
  v1::PlanFileManifest manifest_;
  std::vector<std::string_view> sections_;
};

template <typename Take>
absl::Status export_plan(const PreparedPlan::State& state, const ExportConfig& config, Take&& take) {
  Writer writer;
  std::vector<std::string> artifacts;
  artifacts.reserve(state.source.artifacts.size());  // the writer refers to them
  HEARTH_RETURN_IF_ERROR(writer.add(Section::PLAN, "", state.plan_bytes));
  for (const runtime::ArtifactSource& source : state.source.artifacts) {
    if (source.path.empty()) {
      artifacts.push_back(source.bytes);
    } else {
      HEARTH_ASSIGN_OR_RETURN(std::string bytes, runtime::read_file(source.path));
      if (to_bytes(sha256(bytes)) != source.digest) {
        return absl::DataLossError(str_cat(source.path, ": its SHA-256 is not ", to_hex(source.digest),
                                           "; run `hearth cache verify` and prepare again"));
      }
      artifacts.push_back(std::move(bytes));
    }
    HEARTH_RETURN_IF_ERROR(writer.add(Section::ARTIFACT, "", artifacts.back()));
  }
  for (const auto& [name, data] : state.source.parameters) {
    const std::string_view bytes(static_cast<const char*>(data.data), data.size);
    HEARTH_RETURN_IF_ERROR(writer.add(Section::PARAMETER, name, bytes, !config.parameters));
  }
  for (const FixedInput& input : *state.fixed_inputs) writer.add_fixed(input);
  writer.set_call(config.call.empty() ? state.call : config.call);
  return writer.write({state.threads, state.source.host.subnormals}, config.signing_key, std::forward<Take>(take));
}

}  // namespace

absl::Status PreparedPlan::export_to(const std::string& path, const ExportConfig& config) const {
  return export_plan(*state_, config,
                     [&](const std::vector<std::string_view>& parts) { return runtime::write_file(path, parts); });
}

absl::StatusOr<std::string> PreparedPlan::export_bytes(const ExportConfig& config) const {
  std::string file;
  const absl::Status exported = export_plan(*state_, config, [&](const std::vector<std::string_view>& parts) {
    std::size_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    file.reserve(size);
    for (const std::string_view part : parts) file += part;
    return absl::OkStatus();
  });
  if (!exported.ok()) return exported;
  return file;
}

}  // namespace hearth::client
