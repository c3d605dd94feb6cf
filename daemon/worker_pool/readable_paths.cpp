#include "daemon/worker_pool/readable_paths.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/status_macros.h"
#include "daemon/worker_pool/real_path.h"

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;

constexpr char kRootMark[] = "{root}";
constexpr int kLinkDepth = 2;
constexpr std::size_t kMaxLookedAt = 10'000;  // that are looked at for links

// Flags that name a file or folder to read, joined to it, with a "=" between, or before it.
constexpr const char* kPathFlags[] = {"-I",
                                      "-isystem",
                                      "-iquote",
                                      "-idirafter",
                                      "-cxx-isystem",
                                      "-include",
                                      "-imacros",
                                      "-isysroot",
                                      "--sysroot",
                                      "-L",
                                      "--rocm-path",
                                      "--hip-path",
                                      "--rocm-device-lib-path",
                                      "--hip-device-lib-path"};

// Without links as far as it exists.
std::string real(const fs::path& path) {
  std::error_code error;
  return fs::weakly_canonical(path, error).string();
}

bool is_secret(const std::string& tree, const SecretFolders& secrets) {
  const std::string cache = real(secrets.cache), home = real(secrets.home);
  const bool has_cache = !cache.empty() && (is_within(cache, tree) || is_within(tree, cache));
  return has_cache || (!home.empty() && is_within(home, tree)) || tree == "/";
}

class PathList {
 public:
  explicit PathList(const SecretFolders& secrets) : secrets_(secrets) {}

  // As named, if it exists. What it is now is what is given: who changes a link later gives nothing away.
  void add(const fs::path& path) {
    if (std::find(paths_.begin(), paths_.end(), path.native()) != paths_.end()) return;
    std::optional<ReadableTree> tree = identify_tree(path);
    if (!tree || is_secret(tree->path, secrets_)) return;
    paths_.push_back(path);
    trees_.push_back(*std::move(tree));
  }
  // And where links lead that lie in it.
  void add_with_links(const fs::path& folder) {
    add(folder);
    std::error_code error;
    fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
    for (std::size_t count = 0; !error && it != end && count < kMaxLookedAt; it.increment(error), ++count) {
      std::error_code ignored;
      if (it->is_symlink(ignored)) add(real(it->path()));
      if (it.depth() + 1 >= kLinkDepth) it.disable_recursion_pending();
    }
  }
  // The tree that a folder of programs was installed with: all of it, in the user's home only what compilers read.
  void add_installation(const fs::path& bin) {
    add(bin);
    const fs::path prefix = fs::path(real(bin)).parent_path();
    if (fs::path(real(bin)).filename() != "bin") return;
    const bool is_users = !secrets_.home.empty() && is_within(prefix, real(secrets_.home));
    if (!is_users && !is_secret(prefix, secrets_)) return add(prefix);
    for (const char* part : {"include", "lib", "lib64", "libexec"}) add(prefix / part);
  }
  Paths take() { return std::move(paths_); }
  std::vector<ReadableTree> take_trees() { return std::move(trees_); }

 private:
  const SecretFolders& secrets_;
  Paths paths_;
  std::vector<ReadableTree> trees_;  // what these were
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The path that `flags[*at]` names, if it does; moves on when it is the next word.
std::string path_of_flag(const google::protobuf::RepeatedPtrField<std::string>& flags, int* at) {
  const std::string& flag = flags[*at];
  for (const char* name : kPathFlags) {
    if (!absl::StartsWith(flag, name)) continue;
    std::string path = flag.substr(std::string_view(name).size());
    if (path.empty() && *at + 1 < flags.size()) return flags[++*at];
    if (absl::StartsWith(path, "=")) path.erase(0, 1);
    if (absl::StartsWith(path, "/") || absl::StartsWith(path, kRootMark)) return path;
  }
  return {};
}

}  // namespace

SecretFolders secret_folders(const std::string& cache, const std::string& home) {
  const std::string place = real(home);
  for (const char* system : {"/usr", "/bin", "/sbin", "/lib", "/dev"})
    if (is_within(place, real(system))) return {.cache = cache, .home = ""};
  return {.cache = cache, .home = home};
}

Paths library_paths(const std::string& folder, const SecretFolders& secrets) {
  PathList list(secrets);
  list.add_with_links(folder);
  return list.take();
}

Paths compiler_paths(const SecretFolders& secrets) {
  PathList list(secrets);
  for (absl::string_view folder : absl::StrSplit(variable("PATH"), ':', absl::SkipEmpty()))
    list.add_installation(std::string(folder));
  for (const char* name : {"HEARTH_HIPCC", "HEARTH_BLOB_CLANG", "HEARTH_BLOB_CXX"}) {
    const std::string named = variable(name);
    if (named.find('/') == std::string::npos) continue;  // on PATH
    std::error_code error;
    const fs::path program = fs::absolute(named, error);
    list.add(program);
    for (const fs::path& place : {program, fs::path(real(program))})
      if (place.parent_path().filename() == "bin") list.add_installation(place.parent_path());
  }
  for (const std::string& home : {variable("ROCM_PATH"), std::string("/opt/rocm")}) list.add(home);
  return list.take();
}

absl::Status check_blob_root(const v1::BlobSpec& spec, const SecretFolders& secrets) {
  if (!is_secret(real(spec.root()), secrets)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("blob '", spec.stem(), "': its root '", spec.root(),
                   "' holds the daemon's cache or this user's home, which compilers may not read; install the "
                   "library in a folder of its own"));
}

absl::StatusOr<std::vector<ReadableTree>> blob_paths(const v1::BlobSpec& spec, const SecretFolders& secrets) {
  HEARTH_RETURN_IF_ERROR(check_blob_root(spec, secrets));
  PathList list(secrets);
  list.add_with_links(spec.root());
  list.add(fs::path(real(spec.root() + "/" + spec.source())).parent_path());
  for (int i = 0; i < spec.flags_size(); ++i) {
    const std::string named = path_of_flag(spec.flags(), &i);
    if (named.empty()) continue;
    const fs::path path = absl::StrReplaceAll(named, {{kRootMark, spec.root()}});
    // The root's own are there already, unless they are links.
    if (!is_within(real(path), real(spec.root()))) list.add(path);
  }
  return list.take_trees();
}

}  // namespace hearth::daemon
