#include "blobs/tools/direct_entry.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/file_digest/file_digest.h"
#include "base/sha256.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

using Json = nlohmann::json;

constexpr int kEntryVersion = 1;

Json lossless(const std::string& text) {
  // Flags may hold any bytes; JSON holds UTF-8.
  return to_hex(text);
}

}  // namespace

std::string spec_identity(const BlobSpec& spec) {
  Json identity = Json::array({lossless(spec.stem), spec.toolchain, lossless(spec.source)});
  for (const auto* list : {&spec.flags, &spec.archs, &spec.exports}) {
    Json words = Json::array();
    for (const std::string& word : *list) words.push_back(lossless(word));
    identity.push_back(std::move(words));
  }
  identity.push_back(to_hex(sha256(spec.glue)));
  return to_hex(sha256(identity.dump()));
}

std::string object_path(const std::string& folder, const std::string& stem) {
  return str_cat(folder, "/", stem, ".so");
}

std::string entry_path(const std::string& folder, const std::string& stem) {
  return str_cat(folder, "/", stem, ".json");
}

std::optional<EntryRecord> load_entry(const std::string& folder, const BlobSpec& spec) {
  const auto text = runtime::read_file(entry_path(folder, spec.stem));
  if (!text.ok()) return std::nullopt;
  // The only throws are of missing or wrong fields: an entry that is damaged is none.
  try {
    const Json json = Json::parse(*text);
    if (json.at("hearth_blob_entry") != kEntryVersion) return std::nullopt;
    EntryRecord record{.identity = json.at("identity"),
                       .toolchain_digest = json.at("toolchain"),
                       .sha256_hex = json.at("sha256"),
                       .stamp = {.inode = json.at("object").at(2),
                                 .size_bytes = json.at("object").at(0),
                                 .modified_ns = json.at("object").at(1)},
                       .seconds = json.at("seconds"),
                       .dependencies = {}};
    for (const Json& file : json.at("dependencies"))
      record.dependencies.push_back({file.at(0), file.at(1), file.at(2), file.at(3)});
    return record;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string entry_json(const EntryRecord& record) {
  Json dependencies = Json::array();
  for (const Dependency& file : record.dependencies)
    dependencies.push_back({file.path, file.sha256_hex, file.size_bytes, file.mtime_ns});
  const Json json = {{"hearth_blob_entry", kEntryVersion},
                     {"identity", record.identity},
                     {"toolchain", record.toolchain_digest},
                     {"sha256", record.sha256_hex},
                     {"object", {record.stamp.size_bytes, record.stamp.modified_ns, record.stamp.inode}},
                     {"seconds", record.seconds},
                     {"dependencies", dependencies}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool still_right(const EntryRecord& record, const BlobSpec& spec, const std::string& toolchain_digest,
                 const std::string& folder) {
  if (record.identity != spec_identity(spec)) return false;
  if (!toolchain_digest.empty() && record.toolchain_digest != toolchain_digest) return false;
  const std::string object = object_path(folder, spec.stem);
  const auto stamp = files::stamp_of_file(object);
  if (!stamp || stamp->size_bytes != record.stamp.size_bytes) return false;
  // Moved with its cache to another file system, say: then its contents decide.
  if (stamp->modified_ns != record.stamp.modified_ns || stamp->inode != record.stamp.inode) {
    const auto digest = files::file_digest(object);
    if (!digest.ok() || to_hex(digest->digest) != record.sha256_hex) return false;
  }
  return dependencies_unchanged(spec, record.dependencies);
}

}  // namespace hearth::blobs
