#include "daemon/worker_pool/worker_usage.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
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

// Fields of proc(5)'s stat, counted from the one after the name (its third).
constexpr std::size_t kParent = 1, kUserTime = 11, kSystemTime = 12, kThreads = 17, kStart = 19;

std::vector<std::string> stat_of(pid_t pid) { return fields_after_name(absl::StrCat("/proc/", pid, "/stat")); }

// True when it was there to be killed. The descriptor names one process: between the look and the signal its number
// may become another's, but not the descriptor.
bool kill_if_same(const ProcessId& process) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
  if (fd < 0) return false;
  const bool is_same = is_running(process);
  if (is_same) ::syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
  ::close(fd);
  return is_same;
}

}  // namespace

std::uint64_t resident_bytes(pid_t pid) {
  const std::vector<std::string> fields = absl::StrSplit(read_small_file(absl::StrCat("/proc/", pid, "/statm")), ' ');
  return field(fields, 1) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t processor_ticks(pid_t pid) {
  const std::vector<std::string> fields = stat_of(pid);
  return field(fields, kUserTime) + field(fields, kSystemTime);
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

std::uint64_t num_tasks(pid_t pid) { return field(stat_of(pid), kThreads); }

pid_t parent_of(pid_t pid) { return static_cast<pid_t>(field(stat_of(pid), kParent)); }

namespace {

using FileId = std::pair<dev_t, ino_t>;

// A line of proc(5)'s maps: what is mapped of a file that has no name any more, memory files among them; nothing for
// other lines. "7f0-7f8 rw-s 00001000 00:01 42 /memfd:x (deleted)"
std::optional<std::pair<FileId, std::uint64_t>> mapped_nameless(absl::string_view line) {
  if (!absl::EndsWith(line, "(deleted)")) return std::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 5));
  if (fields.size() < 6) return std::nullopt;
  const std::vector<absl::string_view> addresses = absl::StrSplit(fields[0], '-'),
                                       device = absl::StrSplit(fields[3], ':');
  std::uint64_t begin = 0, end = 0, offset = 0, major_number = 0, minor_number = 0, inode = 0;
  if (addresses.size() != 2 || device.size() != 2 || !absl::SimpleHexAtoi(addresses[0], &begin) ||
      !absl::SimpleHexAtoi(addresses[1], &end) || !absl::SimpleHexAtoi(fields[2], &offset) ||
      !absl::SimpleHexAtoi(device[0], &major_number) || !absl::SimpleHexAtoi(device[1], &minor_number) ||
      !absl::SimpleAtoi(fields[4], &inode))
    return std::nullopt;
  const FileId file{makedev(static_cast<unsigned>(major_number), static_cast<unsigned>(minor_number)), inode};
  return std::pair(file, offset + end - begin);
}

}  // namespace

std::uint64_t nameless_bytes(const std::vector<pid_t>& pids) {
  std::map<FileId, std::uint64_t> open, mapped;
  for (const pid_t pid : pids) {
    std::error_code error;
    std::filesystem::directory_iterator it(absl::StrCat("/proc/", pid, "/fd"), error), end;
    for (; !error && it != end; it.increment(error)) {
      struct stat info{};
      if (::stat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 0) continue;
      constexpr std::uint64_t kBlockBytes = 512;  // of stat(2), whatever the file system
      open[{info.st_dev, info.st_ino}] = static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes;
    }
    // A file that is mapped needs no descriptor, and pages that were dropped are not resident; how far it is mapped
    // bounds what is in it.
    std::ifstream maps(absl::StrCat("/proc/", pid, "/maps"));
    for (std::string line; std::getline(maps, line);) {
      const auto file = mapped_nameless(line);
      if (file && file->first.second != 0) mapped[file->first] = std::max(mapped[file->first], file->second);
    }
  }
  std::uint64_t total = 0;
  for (const auto& [file, bytes] : open) total += bytes;
  for (const auto& [file, bytes] : mapped) total += open.count(file) == 0 ? bytes : 0;  // its own word counts
  return total;
}

std::optional<ProcessId> identify(pid_t pid) {
  const std::vector<std::string> fields = stat_of(pid);
  if (fields.empty()) return std::nullopt;
  return ProcessId{pid, field(fields, kStart)};
}

bool is_running(const ProcessId& process) {
  const std::optional<ProcessId> now = identify(process.pid);
  return now && now->start_ticks == process.start_ticks && !is_zombie(process.pid);
}

void kill_processes(const std::vector<ProcessId>& processes) {
  repeat_until_none([&processes] {
    std::size_t count = 0;
    for (const ProcessId& process : processes) {
      if (!is_running(process)) continue;
      // Descendants go first: without their parent they could not be found.
      for (const pid_t descendant : descendants_of(process.pid)) {
        if (const std::optional<ProcessId> child = identify(descendant)) count += kill_if_same(*child);
      }
      count += kill_if_same(process);
    }
    return count;
  });
}

}  // namespace hearth::daemon
