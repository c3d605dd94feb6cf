#include "daemon/worker_usage.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
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
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), ignored)) {
    const std::vector<std::string> fields = fields_after_name((task.path() / "stat").string());
    if (!fields.empty() && (fields[0] == "R" || fields[0] == "D")) return true;
  }
  return false;
}

}  // namespace hearth::daemon
