#include "tests/fuzz/bytes/plan_file_target.h"

#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "hearth/plan_file.h"
#include "hearth/v1/plan.pb.h"
#include "hearth/v1/plan_file.pb.h"
#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::fuzz {
namespace {

constexpr std::size_t kAlignment = 64;

void pad(std::string& bytes) { bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment); }

// The file as docs/plan_file.md has it, with the digests of what it holds.
std::string encode(const v1::PlanFileManifest& manifest, const std::vector<std::string>& sections) {
  std::string header("HEARTHPF"), body = manifest.SerializeAsString();
  const std::uint64_t manifest_bytes = body.size();
  const std::string digest = to_bytes(sha256(body));
  pad(body);
  for (const std::string& section : sections) {
    body += section;
    pad(body);
  }
  const std::uint64_t total = kAlignment + body.size();
  const std::uint32_t version[2] = {1, 0};
  header.append(reinterpret_cast<const char*>(version), sizeof version);
  header.append(reinterpret_cast<const char*>(&total), sizeof total);
  header.append(reinterpret_cast<const char*>(&manifest_bytes), sizeof manifest_bytes);
  return header + digest + body;
}

v1::PlanFileManifest manifest_of(const std::string& plan, const std::string& parameter) {
  v1::PlanFileManifest manifest;
  manifest.set_threads(1);
  const auto add = [&](v1::PlanFileSection::Kind kind, const std::string& name, const std::string& bytes) {
    v1::PlanFileSection& section = *manifest.add_sections();
    section.set_kind(kind);
    section.set_name(name);
    section.set_size(bytes.size());
    section.set_sha256(to_bytes(sha256(bytes)));
  };
  add(v1::PlanFileSection::PLAN, "", plan);
  add(v1::PlanFileSection::PARAMETER, "a", parameter);
  return manifest;
}

v1::Plan null_plan() {
  v1::Plan plan = testing::saxpy_plan(100, true).plan;
  plan.mutable_target()->set_device("null");
  for (v1::PlanKernel& kernel : *plan.mutable_kernels()) kernel.clear_artifact();
  return plan;
}

const std::string kParameter(4, '\3');

// Bytes anywhere; or the manifest; or the plan, with a manifest that fits it.
std::string mutated_file(const std::string& bytes, Random& random) {
  if (random.one_in(3)) return mutated_bytes(bytes, random);
  v1::Plan plan = null_plan();
  if (random.one_in(2)) {
    const std::string sound = plan.SerializeAsString();
    v1::PlanFileManifest manifest = manifest_of(sound, kParameter);
    mutate_message(manifest, random);
    return encode(manifest, {sound, kParameter});
  }
  mutate_message(plan, random);
  const std::string changed = plan.SerializePartialAsString();
  return encode(manifest_of(changed, kParameter), {changed, kParameter});
}

}  // namespace

Target plan_file() {
  const std::string path = testing::scratch_folder() + "/fuzz.hearth", sound = null_plan().SerializeAsString();
  return {"plan file",
          {encode(manifest_of(sound, kParameter), {sound, kParameter})},
          [path](const std::string& bytes, Answer* answer) -> std::string {
            std::ofstream(path, std::ios::binary) << bytes;
            const auto plan = client::load_plan(path, {.threads = 1});
            answer->accepted = plan.ok();
            const std::string message = answer->message = std::string(plan.status().message());
            if (plan.ok()) return "";
            if (message.rfind(path, 0) != 0)
              return absl::StrCat("an error that does not begin with the path: ", message);
            if (message.find('\n') != std::string::npos)
              return absl::StrCat("an error of more than one line: ", message);
            return absl::IsInternal(plan.status()) ? plan.status().ToString() : "";
          },
          mutated_file,
          1500};
}

}  // namespace hearth::fuzz
