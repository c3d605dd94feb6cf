#include "daemon/worker/private_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/status_macros.h"
#include "base/text.h"
#include "daemon/worker_pool/real_path.h"

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;

constexpr char kSkeletonOptions[] = "mode=0755,size=1m,nr_inodes=4096";  // folders, links and places to mount on
constexpr unsigned kFilesPerMebibyte = 64;                               // so that inodes cost no more than contents

absl::Status failed(const std::string& step) { return absl::InternalError(str_cat(step, ": ", std::strerror(errno))); }

// Makes `place` what can be mounted on: a folder, or an empty file.
absl::Status make_place(const std::string& place, bool folder) {
  std::error_code error;
  fs::create_directories(folder ? fs::path(place) : fs::path(place).parent_path(), error);
  if (error) return absl::InternalError(str_cat("creating ", place, ": ", error.message()));
  if (folder) return absl::OkStatus();
  const int fd = ::open(place.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
  if (fd < 0) return failed("creating " + place);
  ::close(fd);
  return absl::OkStatus();
}

// With everything mounted below it: the kernel shows no unprivileged user what a mount hides. `from` names what is
// called `name`.
absl::Status mount_tree(const std::string& from, const std::string& to, const std::string& name) {
  struct stat info{};
  if (::stat(from.c_str(), &info) != 0) return failed("looking at " + name);
  HEARTH_RETURN_IF_ERROR(make_place(to, S_ISDIR(info.st_mode)));
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return failed("mounting " + name);
  return absl::OkStatus();
}
absl::Status mount_tree(const std::string& from, const std::string& to) { return mount_tree(from, to, from); }

absl::Status restrict_mount(const std::string& place, std::uint64_t attributes, unsigned flags) {
  mount_attr attr{};
  attr.attr_set = attributes;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, place.c_str(), flags, &attr, sizeof(attr)) != 0)
    return failed(str_cat("making ", place, " read-only"));
  return absl::OkStatus();
}

using Links = std::map<std::string, std::string>;  // place → target

void add_links(const std::vector<RealPath::Link>& links, Links& all) {
  for (const RealPath::Link& link : links) all[link.place] = link.target;
}

// What is to be at a place of the new root: a tree, by name or already open, or nothing.
struct Place {
  UniqueFd tree;  // closed: by its name
  bool is_cover = false;
};
using Places = std::map<fs::path, Place>;  // paths go name by name: what holds something comes before it

Places places_of(const PrivateRoot& wanted, Links& links) {
  Places places;
  for (const std::string& name : wanted.covers) {
    if (const std::optional<RealPath> path = follow(name)) places[path->real].is_cover = true;
  }
  for (const std::string& name : wanted.names) {
    const std::optional<RealPath> path = follow(name);
    if (!path) continue;
    add_links(path->links, links);
    places.try_emplace(path->real);
  }
  for (const ReadableTree& tree : wanted.trees) {
    UniqueFd fd = open_tree(tree);
    if (!fd) continue;
    add_links(tree.links, links);
    places.try_emplace(tree.path, Place{std::move(fd), false});  // not in place of a cover
  }
  return places;
}

// Over what came with a tree above it.
absl::Status cover(const std::string& place) {
  struct stat info{};
  if (::stat(place.c_str(), &info) != 0) return absl::OkStatus();  // it is not there
  if (::mount("tmpfs", place.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, kSkeletonOptions) != 0)
    return failed("covering " + place);
  return absl::OkStatus();
}

// `covers`: where the covers are; they can still be mounted in.
absl::Status add_trees(const PrivateRoot& wanted, Links& links, const std::string& root,
                       std::vector<std::string>& covers) {
  const Places places = places_of(wanted, links);
  std::vector<const Places::value_type*> done;  // what holds the place that is looked at, outermost first
  for (const Places::value_type& entry : places) {
    const std::string place = entry.first.native();
    while (!done.empty() && !is_within(place, done.back()->first.native())) done.pop_back();
    const bool comes_along = !done.empty() && !done.back()->second.is_cover;
    if (entry.second.is_cover == comes_along) {  // a tree that is not there yet, or a cover over something that is
      if (entry.second.is_cover) {
        covers.push_back(root + place);
        HEARTH_RETURN_IF_ERROR(cover(covers.back()));
      } else {
        const int fd = entry.second.tree.get();
        const std::string from = fd < 0 ? place : "/proc/self/fd/" + std::to_string(fd);
        HEARTH_RETURN_IF_ERROR(mount_tree(from, root + place, place));
        constexpr std::uint64_t kSafe = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        HEARTH_RETURN_IF_ERROR(restrict_mount(root + place, kSafe, AT_RECURSIVE));
      }
    }
    done.push_back(&entry);
  }
  return absl::OkStatus();
}

absl::Status make_links(const Links& links, const std::string& root) {
  for (const auto& [place, target] : links) {
    struct stat info{};
    if (::lstat((root + place).c_str(), &info) == 0) continue;  // it came with a tree
    std::error_code error;
    fs::create_directories(fs::path(root + place).parent_path(), error);
    if (::symlink(target.c_str(), (root + place).c_str()) != 0) return failed("linking " + place);
  }
  return absl::OkStatus();
}

absl::Status add_devices(const std::string& root) {
  for (const char* name : {"/dev/null", "/dev/full", "/dev/random", "/dev/urandom"}) {
    HEARTH_RETURN_IF_ERROR(mount_tree(name, root + name));
  }
  // What shells and compilers know by these names.
  constexpr std::pair<const char*, const char*> kLinks[] = {{"/dev/fd", "/proc/self/fd"},
                                                            {"/dev/stdin", "/proc/self/fd/0"},
                                                            {"/dev/stdout", "/proc/self/fd/1"},
                                                            {"/dev/stderr", "/proc/self/fd/2"}};
  for (const auto& [place, target] : kLinks) {
    if (::symlink(target, (root + place).c_str()) != 0) return failed(str_cat("linking ", place));
  }
  return absl::OkStatus();
}

// The worker's own processes only. Where parts of /proc are hidden, as in containers, the kernel allows no other view;
// then it is the same as outside.
absl::Status add_proc(const std::string& root) {
  const std::string place = root + "/proc";
  HEARTH_RETURN_IF_ERROR(make_place(place, true));
  if (::mount("proc", place.c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0) return absl::OkStatus();
  return mount_tree("/proc", place);
}

absl::Status add_folder(const PrivateRoot& wanted, const std::string& root) {
  const std::string place = root + wanted.folder;
  HEARTH_RETURN_IF_ERROR(make_place(place, true));
  std::string options = "mode=0700";
  if (wanted.folder_bytes > 0) {
    const std::uint64_t mebibytes = std::max<std::uint64_t>(1, wanted.folder_bytes >> 20);
    str_append(&options, ",size=", wanted.folder_bytes, ",nr_inodes=", 64 + kFilesPerMebibyte * mebibytes);
  }
  if (::mount("tmpfs", place.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options.c_str()) != 0)
    return failed("making a private folder");
  return absl::OkStatus();
}

absl::Status fill(const PrivateRoot& wanted, Links links, const std::string& root) {
  std::vector<std::string> covers;
  HEARTH_RETURN_IF_ERROR(add_trees(wanted, links, root, covers));
  HEARTH_RETURN_IF_ERROR(make_links(links, root));
  HEARTH_RETURN_IF_ERROR(add_devices(root));
  HEARTH_RETURN_IF_ERROR(add_proc(root));
  HEARTH_RETURN_IF_ERROR(add_folder(wanted, root));
  for (const std::string& covered : covers) {
    HEARTH_RETURN_IF_ERROR(restrict_mount(covered, MOUNT_ATTR_RDONLY, 0));
  }
  return restrict_mount(root, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 0);
}

}  // namespace

absl::Status enter_private_root(const PrivateRoot& wanted) {
  // Nothing that is mounted here is to be seen outside.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed("leaving shared mounts");
  const std::optional<RealPath> folder = follow(wanted.folder);
  if (!folder) return absl::InternalError("the private folder does not exist");
  const std::string& root = folder->real;
  if (::mount("tmpfs", root.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, kSkeletonOptions) != 0)
    return failed("making a root");
  PrivateRoot resolved = wanted;
  resolved.folder = folder->real;
  Links links;
  add_links(folder->links, links);
  absl::Status status = fill(resolved, std::move(links), root);
  if (status.ok() && ::chdir(root.c_str()) != 0) status = failed("entering the root");
  if (status.ok() && ::syscall(SYS_pivot_root, ".", ".") != 0) status = failed("changing the root");
  if (!status.ok()) {
    ::umount2(root.c_str(), MNT_DETACH);
    return status;
  }
  // The old root lies above the new one now.
  if (::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) return failed("leaving the old root");
  return absl::OkStatus();
}

}  // namespace hearth::daemon
