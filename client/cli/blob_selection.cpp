#include "client/cli/blob_selection.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/print.h"
#include "runtime/blob_library.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string absolute(const std::string& path) {
  std::error_code ignored;
  std::string result = fs::absolute(path, ignored).lexically_normal().string();
  while (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

std::string given_root(const BlobNames& names) { return names.root.empty() ? variable("CK_JIT_ROOT") : names.root; }

std::string given_manifest(const BlobNames& names) {
  if (!names.manifest.empty()) return names.manifest;
  if (std::string named = variable("CK_JIT_MANIFEST"); !named.empty()) return named;
  const std::string root = given_root(names);
  return root.empty() ? "" : str_cat(root, "/", runtime::kBlobManifestFile);
}

absl::StatusOr<std::string> list_text(const std::string& file) {
  if (file != "-") return runtime::read_file(file);
  return std::string{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

std::string trimmed(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Sources lie beside an installed manifest; those of a library's manifest in a build's temporary folder, in the staged
// root beside its own folder.
std::string root_of(const blobs::Manifest& manifest, const std::string& manifest_path, const std::string& given) {
  if (!given.empty()) return absolute(given);
  const fs::path beside = fs::path(manifest_path).parent_path();
  const fs::path staged = beside.parent_path() / "ck_jit";
  std::error_code ignored;
  const auto has_sources = [&](const fs::path& folder) {
    return manifest.blobs.empty() || fs::exists(folder / manifest.blobs[0].source, ignored);
  };
  return absolute(!has_sources(beside) && has_sources(staged) ? staged.string() : beside.string());
}

}  // namespace

bool names_manifest(const BlobNames& names) { return !given_manifest(names).empty(); }

absl::StatusOr<std::vector<std::string>> given_names(const BlobNames& names) {
  std::vector<std::string> given = names.names;
  if (!names.list_file.empty()) {
    const absl::StatusOr<std::string> text = list_text(names.list_file);
    if (!text.ok()) return absl::Status(text.status().code(), str_cat("--blob-list ", text.status().message()));
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      if (std::string name = trimmed(line); !name.empty()) given.push_back(std::move(name));
    }
  }
  std::set<std::string_view> seen;
  std::vector<std::string> once;
  for (const std::string& name : given) {
    if (seen.insert(blobs::stem_of(name)).second) once.push_back(name);
  }
  return once;
}

absl::StatusOr<BlobSelection> select_blobs(const BlobNames& names, bool all_unless_named) {
  BlobSelection selection;
  selection.manifest_path = given_manifest(names);
  if (selection.manifest_path.empty()) {
    return usage_error("no manifest: give --manifest, --root, or set CK_JIT_MANIFEST or CK_JIT_ROOT");
  }
  HEARTH_ASSIGN_OR_RETURN(blobs::Manifest manifest, blobs::read_manifest(selection.manifest_path));
  selection.manifest = std::move(manifest);
  selection.root = root_of(selection.manifest, absolute(selection.manifest_path), given_root(names));
  HEARTH_ASSIGN_OR_RETURN(const std::vector<std::string> given, given_names(names));
  const bool all = names.all || (all_unless_named && given.empty() && names.list_file.empty());
  std::set<std::string> taken;
  for (const std::string& name : given) {
    const blobs::Blob* blob = selection.manifest.find(name);
    if (blob == nullptr) {
      selection.unknown.push_back(name);
    } else if (taken.insert(blob->stem).second) {
      selection.stems.push_back(blob->stem);
    }
  }
  if (all) {
    selection.stems.clear();
    for (const blobs::Blob& blob : selection.manifest.blobs) selection.stems.push_back(blob.stem);
  }
  if (!all && given.empty() && names.list_file.empty()) {
    return usage_error("name blobs, or give --blob-list FILE or --all");
  }
  return selection;
}

}  // namespace hearth::cli
