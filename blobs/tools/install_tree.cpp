#include "blobs/tools/install_tree.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/library/adapter.h"
#include "blobs/tools/installed_library.h"
#include "blobs/tools/post_build.h"
#include "blobs/tools/shipped_adapters.h"
#include "runtime/blob_library.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

absl::Status failed(const fs::path& path, const std::error_code& error) {
  return absl::PermissionDeniedError(str_cat(path.string(), ": cannot be written: ", error.message()));
}

absl::Status copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (error) return failed(to.parent_path(), error);
  if (!fs::is_regular_file(from, error))
    return absl::NotFoundError(str_cat(from.string(), ": is gone; run `hearth blobs build full` again"));
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  return error ? failed(to, error) : absl::OkStatus();
}

bool is_header(const fs::path& path) {
  static const std::set<std::string> kEndings = {".h", ".hpp", ".hh", ".hxx", ".inc", ".inl", ".cuh", ".ipp", ""};
  return kEndings.contains(path.extension().string());
}

// Headers of a folder and what is below it. Links to folders are followed once each.
absl::Status copy_headers(const fs::path& from, const fs::path& to, std::set<fs::path>* seen, int* files) {
  std::error_code error;
  if (!seen->insert(fs::canonical(from, error)).second) return absl::OkStatus();
  for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
    const fs::path name = entry.path().filename();
    if (entry.is_directory(error)) {
      HEARTH_RETURN_IF_ERROR(copy_headers(entry.path(), to / name, seen, files));
    } else if (entry.is_regular_file(error) && is_header(name)) {
      HEARTH_RETURN_IF_ERROR(copy_one(entry.path(), to / name));
      ++*files;
    }
  }
  return absl::OkStatus();
}

absl::Status copy_programs(const std::string& hearth, const fs::path& to) {
  const fs::path bin = fs::path(hearth).parent_path();
  std::error_code error;
  if (!fs::is_regular_file(bin / "hearth-blobc", error))
    return absl::NotFoundError(str_cat((bin / "hearth-blobc").string(),
                                       ": there is no such program; install it beside "
                                       "hearth: it compiles blobs where no daemon runs"));
  HEARTH_RETURN_IF_ERROR(copy_one(bin / "hearth-blobc", to / "hearth-blobc"));
  for (const ShippedProgram& shipped : shipped_programs()) {
    const fs::path program = to / shipped.name;
    HEARTH_RETURN_IF_ERROR(runtime::write_file(program.string(), {shipped.text}));
    fs::permissions(program, static_cast<fs::perms>(0755), error);
    if (error) return failed(program, error);
  }
  const fs::path client = installed_library(bin, "libhearth_blob_client.so");
  return fs::is_regular_file(client, error) ? copy_one(client, to / client.filename()) : absl::OkStatus();
}

// What makes the tree a library for traced attention. One of another toolchain would only be skipped when it is read.
absl::Status write_adapters(const std::string& toolchain, const fs::path& to) {
  for (const ShippedAdapter& shipped : shipped_adapters()) {
    HEARTH_ASSIGN_OR_RETURN(const Adapter adapter, parse_adapter(shipped.text, shipped.name));
    if (adapter.toolchain() != toolchain) continue;
    std::error_code error;
    fs::create_directories(to, error);
    if (error) return failed(to, error);
    if (absl::Status status = runtime::write_file((to / shipped.name).string(), {shipped.text}); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status fill(const InstallInput& input, const Manifest& manifest, const fs::path& tree, InstallReport* report) {
  HEARTH_RETURN_IF_ERROR(copy_programs(input.hearth, tree));
  if (absl::Status status = write_adapters(manifest.toolchain, tree / runtime::kBlobAdapterFolder); !status.ok())
    return status;
  std::set<fs::path> seen, source_folders;
  for (const Blob& blob : manifest.blobs) {
    const fs::path source = fs::path(input.root) / blob.source;
    HEARTH_RETURN_IF_ERROR(copy_one(source, tree / blob.source));
    ++report->sources;
    source_folders.insert(fs::path(blob.source).parent_path());
  }
  std::error_code error;
  for (const std::string& folder : include_folders(manifest)) {
    const fs::path from = fs::path(input.root) / folder;
    if (!fs::is_directory(from, error)) continue;  // compilers do not mind an -I that is not there
    HEARTH_RETURN_IF_ERROR(copy_headers(from, tree / folder, &seen, &report->files));
  }
  for (const fs::path& folder : source_folders)  // what sources include from beside themselves
    if (absl::Status status = copy_headers(fs::path(input.root) / folder, tree / folder, &seen, &report->files);
        !status.ok())
      return status;
  return runtime::write_file((tree / runtime::kBlobManifestFile).string(), {manifest_json(manifest)});
}

}  // namespace

std::vector<std::string> include_folders(const Manifest& manifest) {
  std::set<std::string> folders;
  const std::string mark = str_cat(kRootMark, "/");
  for (const Blob& blob : manifest.blobs)
    for (const std::string& flag : blob.flags)
      if (const auto at = flag.find(mark); at != std::string::npos && flag.find('=') == std::string::npos)
        folders.insert(flag.substr(at + mark.size()));
  std::vector<std::string> outer;
  for (const std::string& folder : folders)  // sorted: an outer folder comes before those inside it
    if (std::none_of(outer.begin(), outer.end(), [&](const std::string& o) { return folder.starts_with(o + "/"); }))
      outer.push_back(folder);
  return outer;
}

absl::StatusOr<Manifest> merge_manifests(const std::vector<Manifest>& manifests) {
  Manifest all{
      .library = "libmha", .toolchain = manifests.empty() ? kHipToolchain : manifests[0].toolchain, .blobs = {}};
  for (const Manifest& manifest : manifests) {
    if (manifest.toolchain != all.toolchain)
      return absl::InvalidArgumentError(str_cat(manifests[0].library, " and ", manifest.library,
                                                ": were built with different toolchains; build both again"));
    all.blobs.insert(all.blobs.end(), manifest.blobs.begin(), manifest.blobs.end());
  }
  std::sort(all.blobs.begin(), all.blobs.end(), [](const Blob& a, const Blob& b) { return a.stem < b.stem; });
  for (std::size_t i = 1; i < all.blobs.size(); ++i)
    if (all.blobs[i - 1].stem == all.blobs[i].stem)
      return absl::InvalidArgumentError(str_cat("blob ", all.blobs[i].stem, ": is in two libraries"));
  return all;
}

absl::StatusOr<InstallReport> install_tree(const InstallInput& input) {
  HEARTH_ASSIGN_OR_RETURN(const Manifest manifest, merge_manifests(input.manifests));
  const fs::path install(input.install_dir), tree = install / "ck_jit", fresh = install / ".ck_jit.new";
  std::error_code error;
  if (fs::exists(tree, error) && !fs::is_regular_file(tree / runtime::kBlobManifestFile, error))
    return absl::FailedPreconditionError(str_cat(tree.string(), ": is there and has no ", runtime::kBlobManifestFile,
                                                 ", so it is not ours to replace; name another --install-dir"));
  fs::create_directories(install, error);
  if (error) return failed(install, error);
  fs::remove_all(fresh, error);
  if (!error) fs::create_directories(fresh, error);
  if (error) return failed(fresh, error);
  InstallReport report;
  absl::Status status = fill(input, manifest, fresh, &report);
  for (const QuickState& library : input.libraries) {
    const std::string name = fs::path(library.out_so).filename().string();
    if (status.ok()) status = copy_one(library.out_so, fresh / name);
  }
  if (!status.ok()) {
    fs::remove_all(fresh, error);
    return status;
  }
  for (const QuickState& library : input.libraries) {
    const fs::path name = fs::path(library.out_so).filename();
    fs::rename(fresh / name, install / name, error);
    if (error) return failed(install / name, error);
    ++report.libraries;
  }
  fs::remove_all(tree, error);
  fs::rename(fresh, tree, error);
  if (error) return failed(tree, error);
  return report;
}

}  // namespace hearth::blobs
