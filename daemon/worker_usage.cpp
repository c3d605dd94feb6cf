#include "daemon/worker_usage.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace hearth::daemon {
namespace {

std::string read_small_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char bytes[1024];
  const ssize_t size = ::read(fd, bytes, sizeof(bytes));
  ::close(fd);
  return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : std::string();
}

std::uint64_t field(const std::vector<std::string>& fields, std::size_t index) {
  std::uint64_t value = 0;
  return index < fields.size() && absl::SimpleAtoi(fields[index], &value) ? value : 0;
}

// The fields of a proc(5) stat file after the program's name, which may hold spaces and brackets.
std::vector<std::string> fields_after_name(const std::string& path) {
  const std::string stat = read_small_file(path);
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  return absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
}

// The folders of its threads. A range-for over the iterator would throw when the process ends meanwhile.
std::vector<std::filesystem::path> tasks_of(pid_t pid) {
  std::vector<std::filesystem::path> tasks;
  std::error_code error;
  std::filesystem::directory_iterator it(absl::StrCat("/proc/", pid, "/task"), error), end;
  for (; !error && it != end; it.increment(error)) tasks.push_back(it->path());
  return tasks;
}

// A process that is being killed takes its time to go; no longer than this.
constexpr std::chrono::seconds kKillPatience{5};

// Runs `find_and_kill` until it finds nothing more.
template <class FindAndKill>
void repeat_until_none(FindAndKill find_and_kill) {
  const auto give_up = std::chrono::steady_clock::now() + kKillPatience;
  while (find_and_kill() > 0 && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool is_zombie(pid_t pid) {
  const std::vector<std::string> fields = fields_after_name(absl::StrCat("/proc/", pid, "/stat"));
  return fields.empty() || fields[0] == "Z" || fields[0] == "X";
}

// Not with a stream: the process may end while it is read, and a stream's buffer throws then.
bool file_names(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::string bytes;
  char block[4096];
  for (ssize_t size = 0; (size = ::read(fd, block, sizeof(block))) > 0;) {
    bytes.append(block, static_cast<std::size_t>(size));
  }
  ::close(fd);
  return bytes.find(text) != std::string::npos;
}

}  // namespace

std::uint64_t resident_bytes(pid_t pid) {
  const std::vector<std::string> fields = absl::StrSplit(read_small_file(absl::StrCat("/proc/", pid, "/statm")), ' ');
  return field(fields, 1) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t processor_ticks(pid_t pid) {
  // State is field 3 of proc(5), the first after the name; utime is 14, stime 15.
  const std::vector<std::string> fields = fields_after_name(absl::StrCat("/proc/", pid, "/stat"));
  return field(fields, 11) + field(fields, 12);
}

bool is_runnable(pid_t pid) {
  for (const std::filesystem::path& task : tasks_of(pid)) {
    const std::vector<std::string> fields = fields_after_name((task / "stat").string());
    if (!fields.empty() && (fields[0] == "R" || fields[0] == "D")) return true;
  }
  return false;
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::vector<pid_t> found;
  std::vector<pid_t> open = {pid};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    for (const std::filesystem::path& task : tasks_of(parent)) {
      std::ifstream children(task / "children");
      for (pid_t child = 0; children >> child;) {
        if (!is_zombie(child)) found.push_back(child);
        open.push_back(child);
      }
    }
  }
  return found;
}

void kill_descendants(pid_t pid) {
  repeat_until_none([pid] {
    const std::vector<pid_t> found = descendants_of(pid);
    for (pid_t descendant : found) ::kill(descendant, SIGKILL);
    return found.size();
  });
}

void kill_processes_naming(const std::string& text) {
  repeat_until_none([&text] {
    std::size_t count = 0;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
      pid_t pid = 0;
      struct stat info;
      if (!absl::SimpleAtoi(entry.path().filename().string(), &pid) || pid == ::getpid()) continue;
      if (::stat(entry.path().c_str(), &info) != 0 || info.st_uid != ::geteuid() || is_zombie(pid)) continue;
      if (!file_names(entry.path() / "environ", text) && !file_names(entry.path() / "cmdline", text)) continue;
      ::kill(pid, SIGKILL);
      ++count;
    }
    return count;
  });
}

}  // namespace hearth::daemon
