#include "daemon/worker_usage.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>
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

}  // namespace

std::uint64_t resident_bytes(pid_t pid) {
  const std::vector<std::string> fields = absl::StrSplit(read_small_file(absl::StrCat("/proc/", pid, "/statm")), ' ');
  return field(fields, 1) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t processor_ticks(pid_t pid) {
  const std::string stat = read_small_file(absl::StrCat("/proc/", pid, "/stat"));
  const std::size_t name_end = stat.rfind(')');  // the name may hold spaces and brackets
  if (name_end == std::string::npos) return 0;
  // After the name: state is field 3 of proc(5), utime 14, stime 15.
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
  return field(fields, 11) + field(fields, 12);
}

}  // namespace hearth::daemon
