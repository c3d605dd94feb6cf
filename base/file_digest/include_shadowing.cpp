#include "base/file_digest/include_shadowing.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

namespace hearth::files {
namespace {

constexpr char kRootMark[] = "{root}";
// `#include <a/b/c/d/e/f/g/h.h>`: names of more folders than this are not looked for.
constexpr int kMaxFolders = 7;
// Headers here do not come and go without the compiler, unless a flag names a folder of them.
constexpr const char* kSystem[] = {"/usr", "/opt"};

// What includes may have been written as: the ends of the paths of all files used, as a tree of names, which are parts
// of those paths.
struct Names {
  std::unordered_map<std::string_view, std::unique_ptr<Names>> folders;
  std::unordered_set<std::string_view> files;
};

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

void add_ends(std::string_view path, Names& names) {
  const std::vector<std::string_view> parts = split(path);
  const int num_folders = std::min<int>(static_cast<int>(parts.size()) - 1, kMaxFolders);
  for (int count = 0; count <= num_folders; ++count) {
    Names* place = &names;
    for (std::size_t i = parts.size() - 1 - static_cast<std::size_t>(count); i + 1 < parts.size(); ++i) {
      std::unique_ptr<Names>& next = place->folders[parts[i]];
      if (!next) next = std::make_unique<Names>();
      place = next.get();
    }
    place->files.insert(parts.back());
  }
}

// One look into folders: each is listed once, by however many ways it is come to.
class Look {
 public:
  Look(FileDigestCache* files, FileSnapshot* watched) : files_(files), watched_(watched) {}

  void into(const std::string& folder, const Names& names, std::set<std::string>& found) {
    const Listing entries = list(folder);
    if (!entries) return;
    if (entries->too_many) return look_for_each(folder, names, found);
    for (const std::string& entry : entries->names) {
      if (names.files.contains(entry)) found.insert(folder + "/" + entry);
      if (auto next = names.folders.find(entry); next != names.folders.end()) {
        into(folder + "/" + entry, *next->second, found);
      }
    }
  }

 private:
  using Listing = std::shared_ptr<const FolderNames>;

  // In a folder of more names than there are to look for.
  void look_for_each(const std::string& folder, const Names& names, std::set<std::string>& found) {
    std::error_code error;
    for (const std::string_view name : names.files) {
      const std::string path = folder + "/" + std::string(name);
      if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found)
        found.insert(path);
    }
    for (const auto& [name, next] : names.folders) {
      const std::string path = folder + "/" + std::string(name);
      if (std::filesystem::exists(path, error)) into(path, *next, found);
    }
  }

  const Listing& list(const std::string& folder) {
    const auto [listing, is_new] = listed_.try_emplace(folder);
    if (is_new) listing->second = files_->names_in(folder, watched_);
    return listing->second;
  }

  FileDigestCache* const files_;
  FileSnapshot* const watched_;
  std::unordered_map<std::string, Listing> listed_;
};

std::string tidy(const std::string& path) {
  std::string result = std::filesystem::path(path).lexically_normal().string();
  while (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

std::vector<std::string> include_folders(const Compile& compile) {
  std::vector<std::string> folders;
  for (std::size_t i = 0; i < compile.flags.size(); ++i) {
    const std::string& flag = compile.flags[i];
    for (const std::string_view name : {"-iquote", "-isystem", "-idirafter", "-cxx-isystem", "-I"}) {
      if (!flag.starts_with(name)) continue;
      std::string folder = flag.substr(name.size());
      if (folder.empty() && i + 1 < compile.flags.size()) folder = compile.flags[i + 1];
      folder = with_root(folder, compile.root);
      if (folder.starts_with('/')) folders.push_back(tidy(folder));
      // As written too: what comes before the dots may be a link.
      if (folder.starts_with('/') && folder.find("..") != std::string::npos) folders.push_back(folder);
      break;
    }
  }
  return folders;
}

bool is_below(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

std::string with_root(const std::string& path, const std::string& root) {
  return path.starts_with(kRootMark) ? root + path.substr(sizeof(kRootMark) - 1) : path;
}

std::string without_root(const std::string& path, const std::string& root) {
  return is_below(path, root) ? kRootMark + path.substr(root.size()) : path;
}

bool any_since(std::int64_t moment_ns, const std::vector<std::string>& shadowing, const std::string& root) {
  return std::any_of(shadowing.begin(), shadowing.end(), [&](const std::string& path) {
    const std::optional<FileStamp> stamp = stamp_of(with_root(path, root));
    return stamp && stamp->changed_ns >= moment_ns;
  });
}

std::vector<std::string> shadowing_files(const Compile& compile, const std::vector<std::string>& used,
                                         FileDigestCache& files, FileSnapshot* watched) {
  const std::string root = tidy(compile.root);
  const std::vector<std::string> given = include_folders(compile);
  std::set<std::string> folders(given.begin(), given.end());
  folders.insert(tidy(root + "/" + std::filesystem::path(compile.source).parent_path().string()));
  std::set<std::string> paths;
  Names names;
  for (const std::string& file : used) {
    const std::string& path = *paths.insert(tidy(with_root(file, root))).first;
    add_ends(path, names);
    const auto has_it = [&](const std::string& folder) { return is_below(path, folder); };
    const bool is_systems = std::any_of(std::begin(kSystem), std::end(kSystem), has_it);
    const bool may_quote = !is_systems || has_it(root) || std::any_of(given.begin(), given.end(), has_it);
    if (may_quote) folders.insert(std::filesystem::path(path).parent_path().string());
  }
  std::set<std::string> found;
  Look look(&files, watched);
  for (const std::string& folder : folders) look.into(folder, names, found);
  std::vector<std::string> result;
  for (const std::string& path : found) {
    if (!paths.contains(path)) result.push_back(without_root(path, root));
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace hearth::files
