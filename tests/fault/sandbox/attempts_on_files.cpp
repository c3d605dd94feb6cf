// The cache's files, the user's files, other processes' files.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "tests/fault/sandbox/attempts.h"

namespace hearth::sandbox_test {
namespace {

std::string cache_file(const Targets& t) { return t["cache_file"]; }
std::string beside(const Targets& t, const char* name) { return t["cache"] + "/" + name; }
std::string own(const char* name) { return std::string(std::getenv("TMPDIR")) + "/" + name; }

std::string write_to(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags, 0666);
  if (fd < 0) return told(false);
  return told(::write(fd, "evil", 4) == 4);
}

std::string read_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  char bytes[4096];
  const ssize_t size = fd < 0 ? -1 : ::read(fd, bytes, sizeof(bytes));
  return told(size > 0, std::string(bytes, static_cast<std::size_t>(size > 0 ? size : 0)));
}

std::string list_of(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return told(false);
  std::string names;
  while (const dirent* entry = ::readdir(folder)) names += std::string(entry->d_name) + " ";
  ::closedir(folder);
  return told(true, names);
}

// What openat2 takes; the header is newer than some systems'.
struct OpenHow {
  std::uint64_t flags = 0, mode = 0, resolve = 0;
};

std::string openat2_truncate(const Targets& t) {
  OpenHow how;
  how.flags = O_RDONLY | O_TRUNC;
  return told(::syscall(437, AT_FDCWD, cache_file(t).c_str(), &how, sizeof(how)) >= 0);
}

std::string fchmod_of_read_file(const Targets& t) {
  const int fd = ::open(cache_file(t).c_str(), O_RDONLY);
  return told(fd >= 0 && ::fchmod(fd, 0) == 0);
}

std::string set_times(const Targets& t) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  return told(::utimensat(AT_FDCWD, cache_file(t).c_str(), times, 0) == 0);
}

// Up and down again: the name that is written is not below the folder that may be.
std::string dotdot_output(const Targets& t) {
  return write_to(own("..") + "/../../../../../../../../../.." + beside(t, "new"), O_WRONLY | O_CREAT);
}

std::string output_through_own_link(const Targets& t) {
  (void)!::symlink(t["cache"].c_str(), own("link").c_str());
  return write_to(own("link") + "/new", O_WRONLY | O_CREAT);
}

std::string hardlink_into_own_folder(const Targets& t) {
  if (::link(cache_file(t).c_str(), own("copy").c_str()) != 0) return told(false);
  return write_to(own("copy"), O_WRONLY);
}

std::string process_path(const Targets& t, const char* what) { return "/proc/" + t["pid"] + "/" + what; }

}  // namespace

const AttemptTable& attempts_on_files() {
  static const AttemptTable table = {
      {"write", [](const Targets& t) { return write_to(cache_file(t), O_WRONLY); }},
      {"write and read", [](const Targets& t) { return write_to(cache_file(t), O_RDWR); }},
      {"append", [](const Targets& t) { return write_to(cache_file(t), O_WRONLY | O_APPEND); }},
      {"create", [](const Targets& t) { return write_to(beside(t, "new"), O_WRONLY | O_CREAT); }},
      {"truncate", [](const Targets& t) { return told(::truncate(cache_file(t).c_str(), 0) == 0); }},
      {"truncate by opening to read",
       [](const Targets& t) { return told(::open(cache_file(t).c_str(), O_RDONLY | O_TRUNC) >= 0); }},
      {"truncate by opening for nothing",
       [](const Targets& t) { return told(::open(cache_file(t).c_str(), O_ACCMODE | O_TRUNC) >= 0); }},
      {"truncate by openat2", openat2_truncate},
      {"chmod", [](const Targets& t) { return told(::chmod(cache_file(t).c_str(), 0) == 0); }},
      {"chmod of the folder", [](const Targets& t) { return told(::chmod(t["cache"].c_str(), 0777) == 0); }},
      {"fchmod", fchmod_of_read_file},
      {"chown", [](const Targets& t) { return told(::chown(cache_file(t).c_str(), 1, 1) == 0); }},
      {"utimes", set_times},
      {"setxattr",
       [](const Targets& t) { return told(::setxattr(cache_file(t).c_str(), "user.evil", "1", 1, 0) == 0); }},
      {"unlink", [](const Targets& t) { return told(::unlink(cache_file(t).c_str()) == 0); }},
      {"rename over",
       [](const Targets& t) { return told(::rename(beside(t, "other").c_str(), cache_file(t).c_str()) == 0); }},
      {"mkdir", [](const Targets& t) { return told(::mkdir(beside(t, "new").c_str(), 0700) == 0); }},
      {"mkfifo", [](const Targets& t) { return told(::mkfifo(beside(t, "new").c_str(), 0600) == 0); }},
      {"symlink in the cache", [](const Targets& t) { return told(::symlink("/", beside(t, "new").c_str()) == 0); }},
      {"hardlink into the own folder", hardlink_into_own_folder},
      {"output by ../", dotdot_output},
      {"output through an own link", output_through_own_link},
      {"write through the daemon's root",
       [](const Targets& t) { return write_to(process_path(t, "root") + cache_file(t), O_WRONLY); }},
      {"read the cache", [](const Targets& t) { return read_of(cache_file(t)); }},
      {"list the cache", [](const Targets& t) { return list_of(t["cache"]); }},
      {"read a secret in the home folder", [](const Targets& t) { return read_of(t["secret"]); }},
      {"list the home folder", [](const Targets& t) { return list_of(t["home"]); }},
      {"read the daemon's environment", [](const Targets& t) { return read_of(process_path(t, "environ")); }},
      {"read the daemon's memory map", [](const Targets& t) { return read_of(process_path(t, "maps")); }},
      {"read the daemon's command line", [](const Targets& t) { return read_of(process_path(t, "cmdline")); }},
      {"open the daemon's memory",
       [](const Targets& t) { return told(::open(process_path(t, "mem").c_str(), O_RDWR) >= 0); }},
      {"follow the daemon's descriptors",
       [](const Targets& t) {
         char name[256];
         return told(::readlink(process_path(t, "fd/0").c_str(), name, sizeof(name)) > 0);
       }},
  };
  return table;
}

}  // namespace hearth::sandbox_test
