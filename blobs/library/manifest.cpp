#include "blobs/library/manifest.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/library/blob_spec.h"

namespace hearth::blobs {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kRemedy[] = "; build the library again with `hearth blobs build full`";

absl::Status bad(std::string_view where, const std::string& what) {
  return absl::InvalidArgumentError(str_cat(where, ": ", what, kRemedy));
}

// A list of strings under `name` of `object`; false when it is anything else.
bool read_strings(const Json& object, const char* name, std::vector<std::string>* out) {
  const auto list = object.find(name);
  if (list == object.end() || !list->is_array()) return false;
  for (const Json& item : *list) {
    if (!item.is_string()) return false;
    out->push_back(item.get<std::string>());
  }
  return true;
}

bool read_string(const Json& object, const char* name, std::string* out) {
  const auto text = object.find(name);
  if (text == object.end() || !text->is_string()) return false;
  *out = text->get<std::string>();
  return true;
}

bool leaves_root(const std::string& path) {
  return path.empty() || path[0] == '/' || path == ".." || path.starts_with("../") || path.ends_with("/..") ||
         path.find("/../") != std::string::npos;
}

absl::StatusOr<Blob> parse_blob(const Json& item, const std::vector<std::vector<std::string>>& flag_sets,
                                const std::string& where) {
  Blob blob;
  if (!item.is_object() || !read_string(item, "stem", &blob.stem) || blob.stem.empty())
    return bad(where, "has no stem");
  const std::string place = str_cat(where, " (", blob.stem, ")");
  if (!read_string(item, "family", &blob.family)) return bad(place, "has no family");
  if (!read_string(item, "source", &blob.source)) return bad(place, "has no source");
  if (leaves_root(blob.source)) return bad(place, str_cat("source \"", blob.source, "\" is not below the root"));
  if (stem_of(blob.source) != blob.stem) return bad(place, str_cat("source \"", blob.source, "\" is another stem's"));
  if (!read_strings(item, "archs", &blob.archs)) return bad(place, "has no list of archs");
  if (!read_strings(item, "exports", &blob.exports) || blob.exports.empty()) return bad(place, "has no exports");
  const auto flags = item.find("flags");
  if (flags == item.end() || !flags->is_number_unsigned() || flags->get<std::size_t>() >= flag_sets.size())
    return bad(place, "flags is not the number of a flag set");
  blob.flags = flag_sets[flags->get<std::size_t>()];
  return blob;
}

absl::StatusOr<std::vector<std::vector<std::string>>> parse_flag_sets(const Json& root, std::string_view file) {
  std::vector<std::vector<std::string>> sets;
  const auto lists = root.find("flag_sets");
  if (lists == root.end() || !lists->is_array()) return bad(file, "has no flag_sets");
  for (const Json& list : *lists) {
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), [](const Json& flag) { return flag.is_string(); }))
      return bad(file, str_cat("flag_sets[", sets.size(), "] is not a list of strings"));
    sets.push_back(list.get<std::vector<std::string>>());
  }
  return sets;
}

}  // namespace

std::string_view stem_of(std::string_view name) {
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  for (const std::string_view ending : {".cpp", ".cu", ".cc", ".hip", ".so", ".o"})
    if (name.ends_with(ending) && name.size() > ending.size()) return name.substr(0, name.size() - ending.size());
  return name;
}

const Blob* Manifest::find(std::string_view stem) const {
  stem = stem_of(stem);
  const auto blob = std::lower_bound(blobs.begin(), blobs.end(), stem,
                                     [](const Blob& a, std::string_view wanted) { return a.stem < wanted; });
  return blob != blobs.end() && blob->stem == stem ? &*blob : nullptr;
}

absl::StatusOr<Manifest> parse_manifest(std::string_view json, std::string_view name) {
  const Json root = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object()) return bad(name, "is not a JSON object");
  const auto version = root.find("hearth_blob_manifest");
  if (version == root.end() || !version->is_number_integer()) return bad(name, "is not a blob manifest");
  if (version->get<int>() != kManifestVersion)
    return absl::FailedPreconditionError(str_cat(name, ": is a manifest of version ", version->get<int>(),
                                                 ", this hearth reads version ", kManifestVersion, kRemedy));
  Manifest manifest;
  if (!read_string(root, "library", &manifest.library)) return bad(name, "has no library");
  if (!read_string(root, "toolchain", &manifest.toolchain) ||
      (manifest.toolchain != kHipToolchain && manifest.toolchain != kCxxToolchain))
    return bad(name, str_cat("toolchain is neither \"", kHipToolchain, "\" nor \"", kCxxToolchain, "\""));
  HEARTH_ASSIGN_OR_RETURN(const auto flag_sets, parse_flag_sets(root, name));
  const auto blobs = root.find("blobs");
  if (blobs == root.end() || !blobs->is_array()) return bad(name, "has no list of blobs");
  for (const Json& item : *blobs) {
    HEARTH_ASSIGN_OR_RETURN(auto blob,
                            parse_blob(item, flag_sets, str_cat(name, ": blobs[", manifest.blobs.size(), "]")));
    manifest.blobs.push_back(std::move(blob));
  }
  std::sort(manifest.blobs.begin(), manifest.blobs.end(), [](const Blob& a, const Blob& b) { return a.stem < b.stem; });
  const auto twice = std::adjacent_find(manifest.blobs.begin(), manifest.blobs.end(),
                                        [](const Blob& a, const Blob& b) { return a.stem == b.stem; });
  if (twice != manifest.blobs.end()) return bad(name, str_cat("has ", twice->stem, " twice"));
  return manifest;
}

absl::StatusOr<Manifest> read_manifest(const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(path));
  return parse_manifest(text, path);
}

std::string manifest_json(const Manifest& manifest) {
  std::map<std::vector<std::string>, std::size_t> numbers;
  for (const Blob& blob : manifest.blobs) numbers.emplace(blob.flags, 0);
  Json sets = Json::array();
  for (auto& [flags, number] : numbers) {
    number = sets.size();
    sets.push_back(flags);
  }
  std::map<std::string_view, const Blob*> sorted;
  for (const Blob& blob : manifest.blobs) sorted.emplace(blob.stem, &blob);
  Json blobs = Json::array();
  for (const auto& [stem, blob] : sorted)
    blobs.push_back({{"stem", blob->stem},
                     {"family", blob->family},
                     {"source", blob->source},
                     {"flags", numbers.at(blob->flags)},
                     {"archs", blob->archs},
                     {"exports", blob->exports}});
  const Json root = {{"hearth_blob_manifest", kManifestVersion},
                     {"library", manifest.library},
                     {"toolchain", manifest.toolchain},
                     {"flag_sets", sets},
                     {"blobs", blobs}};
  return root.dump(1) + "\n";
}

BlobSpec blob_spec(const Manifest& manifest, const Blob& blob, std::string root) {
  return {.stem = blob.stem,
          .toolchain = manifest.toolchain,
          .root = std::move(root),
          .source = blob.source,
          .flags = blob.flags,
          .archs = blob.archs,
          .exports = blob.exports,
          .glue = {}};
}

}  // namespace hearth::blobs
