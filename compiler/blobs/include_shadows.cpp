#include "compiler/blobs/include_shadows.h"

#include <dirent.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "compiler/blobs/file_stamp.h"
#include "runtime/text.h"

namespace hearth::blobs {
namespace {

constexpr int kLongestGuess = 4;  // components of a name by which a system header may have been included

// A name of a header, and how many of the folders are searched before the one it was found in.
struct Name {
  std::string_view text;
  std::size_t searched_before;
};

bool below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

// By the first component, which is what a folder's listing can be compared with.
using Names = std::unordered_map<std::string_view, std::vector<Name>>;

void add_name(Names* names, std::string_view text, std::size_t searched_before) {
  std::vector<Name>& list = (*names)[text.substr(0, text.find('/'))];
  const auto same = std::find_if(list.begin(), list.end(), [&](const Name& name) { return name.text == text; });
  if (same == list.end()) {
    list.push_back({text, searched_before});
  } else {
    same->searched_before = std::max(same->searched_before, searched_before);
  }
}

// The names by which a header may have been included: below the folders of the search that hold it, else any ending.
void add_names(Names* names, std::string_view path, const std::vector<std::string>& folders) {
  bool found = false;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (!below(path, folders[i])) continue;
    found = true;
    add_name(names, path.substr(folders[i].size() + 1), i);
  }
  if (found) return;
  std::size_t start = path.rfind('/');
  for (int components = 1; components <= kLongestGuess && start != std::string_view::npos && start > 0; ++components) {
    add_name(names, path.substr(start + 1), folders.size());
    start = path.rfind('/', start - 1);
  }
}

// Candidates in one folder, the `position`th of the search: for the names that folders after it hold.
void look_in(const std::string& folder, std::ptrdiff_t position, const Names& names, const std::set<std::string>& used,
             std::set<std::string>* shadows) {
  DIR* listing = ::opendir(folder.c_str());
  if (listing == nullptr) return;
  while (const dirent* entry = ::readdir(listing)) {
    const auto list = names.find(entry->d_name);
    if (list == names.end()) continue;
    for (const Name& name : list->second) {
      if (static_cast<std::ptrdiff_t>(name.searched_before) <= position) continue;
      std::string path = str_cat(folder, "/", name.text);
      if (!used.contains(path) && stamp_of(path)) shadows->insert(std::move(path));
    }
  }
  ::closedir(listing);
}

}  // namespace

std::set<std::string> include_shadows(const std::vector<std::string>& folders, const std::set<std::string>& used) {
  Names names;
  for (const std::string& path : used) add_names(&names, path, folders);
  std::set<std::string> shadows;
  for (std::size_t i = 0; i < folders.size(); ++i)
    look_in(folders[i], static_cast<std::ptrdiff_t>(i), names, used, &shadows);
  // #include "x.h" first looks beside the file it stands in: before all the folders. Only beside files of the user's.
  std::set<std::string> beside;
  for (const std::string& path : used)
    if (!path.starts_with("/usr/") && !path.starts_with("/opt/")) beside.insert(path.substr(0, path.rfind('/')));
  for (const std::string& folder : beside) look_in(folder, -1, names, used, &shadows);
  return shadows;
}

}  // namespace hearth::blobs
