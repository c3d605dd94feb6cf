#include "daemon/blob_bystanders.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace hearth::daemon {
namespace {

constexpr char kRootMark[] = "{root}";
// `#include <a/b/c/d/e/f/g/h.h>`: names of more folders than this are not looked for.
constexpr int kMaxFolders = 7;

// What includes may have been written as: the ends of the paths of all files used, as a tree of names.
struct Names {
  std::unordered_map<std::string, std::unique_ptr<Names>> folders;
  std::unordered_set<std::string> files;
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

void add_ends(const std::string& path, Names& names) {
  const std::vector<std::string_view> parts = split(path);
  const int num_folders = std::min<int>(static_cast<int>(parts.size()) - 1, kMaxFolders);
  for (int count = 0; count <= num_folders; ++count) {
    Names* place = &names;
    for (std::size_t i = parts.size() - 1 - static_cast<std::size_t>(count); i + 1 < parts.size(); ++i) {
      std::unique_ptr<Names>& next = place->folders[std::string(parts[i])];
      if (!next) next = std::make_unique<Names>();
      place = next.get();
    }
    place->files.insert(std::string(parts.back()));
  }
}

void find(const std::string& folder, const Names& names, FileMemo& files, Watched* watched,
          std::set<std::string>& found) {
  const auto entries = files.names_in(folder, watched);
  if (!entries) return;
  for (const std::string& entry : *entries) {
    if (names.files.count(entry) > 0) found.insert(folder + "/" + entry);
    if (auto next = names.folders.find(entry); next != names.folders.end()) {
      find(folder + "/" + entry, *next->second, files, watched, found);
    }
  }
}

std::string tidy(const std::string& path) {
  std::string result = std::filesystem::path(path).lexically_normal().string();
  while (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

std::vector<std::string> include_folders(const v1::BlobSpec& spec) {
  std::vector<std::string> folders;
  for (int i = 0; i < spec.flags_size(); ++i) {
    const std::string& flag = spec.flags(i);
    for (const char* name : {"-iquote", "-isystem", "-idirafter", "-I"}) {
      if (!flag.starts_with(name)) continue;
      std::string folder = flag.substr(std::string_view(name).size());
      if (folder.empty() && i + 1 < spec.flags_size()) folder = spec.flags(i + 1);
      folder = with_root(folder, spec.root());
      if (!folder.empty() && folder[0] == '/') folders.push_back(tidy(folder));
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

std::vector<std::string> bystanders_of(const v1::BlobSpec& spec, const BlobFiles& used, FileMemo& files,
                                       Watched* watched) {
  const std::string root = tidy(spec.root());
  const std::vector<std::string> given = include_folders(spec);
  std::set<std::string> folders(given.begin(), given.end());
  folders.insert(tidy(root + "/" + std::filesystem::path(spec.source()).parent_path().string()));
  Names names;
  std::set<std::string> paths;
  for (const v1::BlobFile& file : used) {
    const std::string path = tidy(with_root(file.path(), root));
    add_ends(path, names);
    paths.insert(path);
    const bool may_quote = is_below(path, root) || std::any_of(given.begin(), given.end(), [&](const auto& folder) {
                             return is_below(path, folder);
                           });
    if (may_quote) folders.insert(std::filesystem::path(path).parent_path().string());
  }
  std::set<std::string> found;
  for (const std::string& folder : folders) find(folder, names, files, watched, found);
  std::vector<std::string> result;
  for (const std::string& path : found) {
    if (paths.count(path) == 0) result.push_back(without_root(path, root));
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace hearth::daemon
