#include "client/files/oci_layout.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/mapped_file.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::client {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kIndexType[] = "application/vnd.oci.image.index.v1+json",
               kManifestType[] = "application/vnd.oci.image.manifest.v1+json",
               kEmptyType[] = "application/vnd.oci.empty.v1+json", kDigestPrefix[] = "sha256:";
constexpr std::size_t kMaxManifests = 64, kHexDigits = 64;
constexpr std::uintmax_t kMaxJsonBytes = 4u << 20;  // what registries take of a manifest

Json descriptor(const char* type, std::string_view bytes) {
  return {{"mediaType", type}, {"digest", kDigestPrefix + to_hex(sha256(bytes))}, {"size", bytes.size()}};
}

absl::Status write_blob(const fs::path& folder, std::string_view bytes) {
  return runtime::write_file((folder / "blobs" / "sha256" / to_hex(sha256(bytes))).string(), {bytes});
}

absl::StatusOr<Json> read_json(const fs::path& path) {
  std::error_code error;
  if (const std::uintmax_t size = fs::file_size(path, error); !error && size > kMaxJsonBytes)
    return absl::InvalidArgumentError(str_cat(path.string(), ": ", size, " bytes are more than a manifest has"));
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(path.string()));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return absl::InvalidArgumentError(str_cat(path.string(), ": no JSON object"));
}

// A member of this name that is a text; "" where there is none.
std::string text_of(const Json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& list_of(const Json& json, const char* name) {
  static const Json kNone = Json::array();
  const auto found = json.is_object() ? json.find(name) : json.end();
  return found != json.end() && found->is_array() ? *found : kNone;
}

// Where the blob of a descriptor lies; its bytes are checked.
absl::StatusOr<fs::path> checked_blob(const fs::path& folder, const Json& described) {
  const std::string digest = text_of(described, "digest");
  const std::string hex = digest.starts_with(kDigestPrefix) ? digest.substr(sizeof kDigestPrefix - 1) : "";
  if (hex.size() != kHexDigits || hex.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return absl::InvalidArgumentError(
        str_cat(folder.string(), ": '", printable(digest, 80), "' is no SHA-256 digest of a blob"));
  }
  const fs::path path = folder / "blobs" / "sha256" / hex;
  HEARTH_ASSIGN_OR_RETURN(const auto file, runtime::MappedFile::open(path.string()));
  HEARTH_ASSIGN_OR_RETURN(const Digest found, runtime::sha256_mapped(file->bytes()));
  if (to_hex(found) == hex) return path;
  return absl::DataLossError(str_cat(path.string(), ": its SHA-256 is another; copy the layout again"));
}

}  // namespace

absl::StatusOr<std::string> write_oci_layout(const std::string& folder, std::string_view pack,
                                             const std::string& title) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    return absl::AlreadyExistsError(str_cat(folder, ": it is there and not empty; name a new folder"));
  fs::create_directories(fs::path(folder) / "blobs" / "sha256", error);
  if (error) return absl::Status(absl::ErrnoToStatusCode(error.value()), str_cat(folder, ": ", error.message()));
  const std::string empty = "{}";
  Json layer = descriptor(kPackMediaType, pack);
  layer["annotations"] = {{"org.opencontainers.image.title", title}};
  const std::string manifest = Json{
      {"schemaVersion", 2},
      {"mediaType", kManifestType},
      {"artifactType", kPackMediaType},
      {"config", descriptor(kEmptyType, empty)},
      {"layers",
       Json::array({layer})}}.dump();
  Json described = descriptor(kManifestType, manifest);
  described["artifactType"] = kPackMediaType;
  described["annotations"] = {{"org.opencontainers.image.ref.name", "pack"}};
  const std::string index =
      Json{{"schemaVersion", 2}, {"mediaType", kIndexType}, {"manifests", Json::array({described})}}.dump();
  for (const std::string_view blob : {pack, std::string_view(empty), std::string_view(manifest)})
    HEARTH_RETURN_IF_ERROR(write_blob(folder, blob));
  const std::string layout = R"({"imageLayoutVersion":"1.0.0"})";
  HEARTH_RETURN_IF_ERROR(runtime::write_file((fs::path(folder) / "oci-layout").string(), {layout}));
  HEARTH_RETURN_IF_ERROR(runtime::write_file((fs::path(folder) / "index.json").string(), {index}));
  return text_of(described, "digest");
}

absl::StatusOr<std::string> pack_in_oci_layout(const std::string& folder) {
  const fs::path root(folder);
  std::error_code error;
  if (!fs::is_regular_file(root / "oci-layout", error)) {
    return absl::InvalidArgumentError(str_cat(folder, ": no OCI image layout: it has no file oci-layout"));
  }
  HEARTH_ASSIGN_OR_RETURN(const Json index, read_json(root / "index.json"));
  const Json& manifests = list_of(index, "manifests");
  if (manifests.size() > kMaxManifests) {
    return absl::InvalidArgumentError(
        str_cat(folder, ": ", manifests.size(), " manifests; copy the one with the pack to a layout of its own"));
  }
  std::vector<std::string> packs;
  for (const Json& described : manifests) {
    if (text_of(described, "mediaType") != kManifestType) continue;
    HEARTH_ASSIGN_OR_RETURN(const fs::path path, checked_blob(root, described));
    HEARTH_ASSIGN_OR_RETURN(const Json manifest, read_json(path));
    for (const Json& layer : list_of(manifest, "layers")) {
      if (text_of(layer, "mediaType") != kPackMediaType) continue;
      HEARTH_ASSIGN_OR_RETURN(const fs::path pack, checked_blob(root, layer));
      if (std::ranges::find(packs, pack.string()) == packs.end()) packs.push_back(pack.string());
    }
  }
  if (packs.size() == 1) return packs.front();
  if (packs.empty())
    return absl::NotFoundError(str_cat(folder, ": no pack in it: no layer of the type ", kPackMediaType));
  return absl::InvalidArgumentError(
      str_cat(folder, ": ", packs.size(), " packs in it; copy the one that is meant to a layout of its own"));
}

}  // namespace hearth::client
