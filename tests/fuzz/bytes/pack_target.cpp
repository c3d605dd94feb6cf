#include "tests/fuzz/bytes/pack_target.h"

#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/files/pack_file.h"
#include "daemon/packs/pack_importer.h"
#include "daemon/packs/packed_kind.h"
#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::fuzz {
namespace {

const Digest kFlavour{7};
const std::string kBuild = "build", kCode = "a kernel's code";

const Ed25519Secret& packer() {
  static const Ed25519Secret secret = Ed25519Secret::made();
  return secret;
}

v1::PackEntry entry_of(const char* kind, const cache::KeyMaterial& material, const std::string& content) {
  const std::string bytes = material.encode();
  daemon::ResultStatement stated{material.domain(), sha256(bytes), kind, "", kFlavour, kBuild, {}, 7};
  stated.files = {{daemon::kPackedMaterial, sha256(bytes), bytes.size()},
                  {daemon::kPackedContent, sha256(content), content.size()}};
  v1::PackEntry entry;
  entry.set_statement(signed_statement(stated, packer()));
  entry.set_material(bytes);
  entry.add_files(to_bytes(sha256(content)));
  return entry;
}

// A kernel, and the contents of a pack that names a plan.
std::vector<std::string> sound_files() {
  v1::PackContents contents;
  contents.add_plans(std::string(32, 'p'));
  return {kCode, contents.SerializeAsString()};
}

v1::PackManifest sound_manifest() {
  const std::vector<std::string> files = sound_files();
  cache::KeyMaterial kernel("hearth.kernel.v2"), contents(daemon::kPackDomain);
  kernel.add("kernel.ast", "ast");
  contents.add("contents", files[1]);
  v1::PackManifest manifest;
  *manifest.add_entries() = entry_of(daemon::kPackedKernel, kernel, files[0]);
  *manifest.add_entries() = entry_of(daemon::kPackedContents, contents, files[1]);
  for (const std::string& file : files) {
    manifest.add_files()->set_sha256(to_bytes(sha256(file)));
    manifest.mutable_files()->rbegin()->set_size(file.size());
  }
  return manifest;
}

std::string packed(const v1::PackManifest& manifest, const std::vector<std::string>& files) {
  return *client::pack_bytes(manifest, {files.begin(), files.end()});
}

// A node that trusts the packer.
struct Node {
  std::unique_ptr<cache::KernelsCache> cache =
      *cache::KernelsCache::open({.dir = testing::scratch_folder() + "/packs"});
  daemon::ResultStore store{cache.get(), 1 << 20};
  daemon::TuningTable tuning{cache.get(), kBuild};
  daemon::PlanReads reads{&store};
  daemon::RemoteSettings settings;
  Node() { settings.trusted.keys = {packer().public_key()}; }
};

std::string judge_pack(const std::string& bytes, Answer* answer) {
  static Node node;
  const auto pack = client::parse_pack(bytes);
  answer->message = std::string(pack.status().message());
  if (!pack.ok()) return answer->message.empty() ? "a refusal without a word" : "";
  const daemon::PackImporter importer({node.cache.get(), &node.tuning, &node.reads, &node.settings, kBuild});
  const v1::PackManifest sound = sound_manifest();
  const std::vector<std::string> files = sound_files();
  for (const v1::PackEntry& entry : pack->manifest.entries()) {
    v1::ImportEntryRequest request;
    *request.mutable_entry() = entry;
    for (const std::string& file : entry.files()) request.add_files(std::string(pack->file(file)));
    const auto kept = importer.import(request, kFlavour);
    answer->accepted |= kept.ok();
    if (!kept.ok()) {
      answer->message = std::string(kept.status().message());
      if (answer->message.empty()) return "a refusal without a word";
      continue;
    }
    bool is_sound = false;
    for (int i = 0; i < sound.entries_size(); ++i) {
      is_sound |= entry.statement() == sound.entries(i).statement() &&
                  entry.material() == sound.entries(i).material() && request.files(0) == files[std::size_t(i)];
    }
    if (!is_sound) return "an entry that nobody signed was kept";
  }
  return "";
}

// Bytes anywhere; or the manifest, or a file with a manifest that fits it.
std::string mutated_pack(const std::string& bytes, Random& random) {
  if (random.one_in(16)) return bytes;
  if (random.one_in(3)) return mutated_bytes(bytes, random);
  v1::PackManifest manifest = sound_manifest();
  std::vector<std::string> files = sound_files();
  if (random.one_in(2)) {
    mutate_message(manifest, random);
    return packed(manifest, files);
  }
  const int changed = static_cast<int>(random.in(0, 1));
  std::string& file = files[static_cast<std::size_t>(changed)];
  file = mutated_bytes(file, random);
  const std::string digest = to_bytes(sha256(file));
  manifest.mutable_files(changed)->set_sha256(digest);
  manifest.mutable_files(changed)->set_size(file.size());
  manifest.mutable_entries(changed)->set_files(0, digest);
  return packed(manifest, files);
}

}  // namespace

Target pack() { return {"pack", {packed(sound_manifest(), sound_files())}, judge_pack, mutated_pack, 1500}; }

}  // namespace hearth::fuzz
