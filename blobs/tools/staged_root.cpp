#include "blobs/tools/staged_root.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "blobs/tools/installed_library.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;
using Mapping = std::vector<std::pair<std::string, std::string>>;

bool strictly_below(const std::string& path, const std::string& folder) {
  return folder.empty() ? !path.empty() : path.size() > folder.size() && path.starts_with(folder + "/");
}

// Links everything of `real` to root/below, leaving room for what the mapping puts there.
void stage(const Mapping& mapping, const std::string& real, const std::string& below, const fs::path& root,
           std::error_code* error) {
  const auto mapped_inside = [&](const std::string& place) {
    return std::any_of(mapping.begin(), mapping.end(),
                       [&](const auto& entry) { return strictly_below(entry.second, place); });
  };
  if (!mapped_inside(below)) {
    std::error_code there;
    // Relative when both lie in one temporary folder, which may be moved.
    const fs::path link = root / below, near = fs::path(real).lexically_relative(link.parent_path());
    const bool same_tree = fs::path(real).lexically_relative(root.parent_path()).string().substr(0, 2) != "..";
    if (!fs::exists(fs::symlink_status(link, there)))
      fs::create_symlink(same_tree ? near : fs::path(real), link, *error);
    return;
  }
  fs::create_directories(root / below, *error);
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(real, missing)) {
    const std::string name = entry.path().filename().string();
    const std::string place = below.empty() ? name : below + "/" + name;
    const bool taken = std::any_of(mapping.begin(), mapping.end(), [&](const auto& m) { return m.second == place; });
    if (!taken && !*error) stage(mapping, entry.path().string(), place, root, error);
  }
}

}  // namespace

absl::Status stage_root(const Mapping& given, const std::string& root, const std::string& bin) {
  std::error_code error;
  fs::remove_all(root, error);
  if (!error) fs::create_directories(root, error);
  // Outer places first, so that inner ones find their folder.
  Mapping mapping = given;
  std::stable_sort(mapping.begin(), mapping.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& [real, below] : mapping) {
    if (error) break;
    if (!below.empty()) fs::create_directories((fs::path(root) / below).parent_path(), error);
    if (!below.empty() || mapping.size() > 1) {
      stage(mapping, real, below, root, &error);
    } else {  // the only one: its entries
      for (const fs::directory_entry& entry : fs::directory_iterator(real, error))
        if (!error) fs::create_symlink(entry.path(), fs::path(root) / entry.path().filename(), error);
    }
  }
  for (const fs::path& ours :
       {fs::path(bin) / "hearth-blobc", fs::path(installed_library(bin, "libhearth_blob_client.so"))}) {
    std::error_code absent;
    if (!error && fs::is_regular_file(ours, absent))
      fs::create_symlink(fs::canonical(ours, absent), fs::path(root) / ours.filename(), error);
  }
  if (error) return absl::PermissionDeniedError(str_cat(root, ": cannot be made: ", error.message()));
  return absl::OkStatus();
}

}  // namespace hearth::blobs
