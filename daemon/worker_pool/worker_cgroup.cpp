#include "daemon/worker_pool/worker_cgroup.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "hearth-worker-";
constexpr std::chrono::seconds kKillPatience{5};

// False with errno; such files take one write.
bool write_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  ::close(fd);
  errno = error;
  return written;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool has_mark(const std::string& folder, const char* name) {
  char value = 0;
  return ::getxattr(folder.c_str(), name, &value, 1) == 1 && value == '1';
}

// systemd marks what it delegates; to another user than root it gives the folder itself. Root may write anywhere, which
// says nothing.
bool is_delegated(const std::string& folder) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0 || ::access((folder + "/cgroup.procs").c_str(), W_OK) != 0) return false;
  if (has_mark(folder, "user.delegate") || has_mark(folder, "trusted.delegate")) return true;
  return ::geteuid() != 0 && info.st_uid == ::geteuid();
}

}  // namespace

WorkerCgroup::~WorkerCgroup() {
  kill();
  ::rmdir(path_.c_str());
}

bool WorkerCgroup::add(pid_t pid) { return write_file(path_ + "/cgroup.procs", absl::StrCat(pid)); }

void WorkerCgroup::kill() {
  const auto give_up = std::chrono::steady_clock::now() + kKillPatience;
  while (absl::StrContains(read_file(path_ + "/cgroup.events"), "populated 1")) {
    write_file(path_ + "/cgroup.kill", "1");
    if (std::chrono::steady_clock::now() > give_up) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::shared_ptr<WorkerCgroups> WorkerCgroups::of_this_process() {
  static const auto* const cgroups = [] {
    const absl::StatusOr<std::string> own = find_own_cgroup();
    auto opened = own.ok() ? open(*own) : absl::StatusOr<std::shared_ptr<WorkerCgroups>>(own.status());
    if (!opened.ok()) spdlog::debug("no control groups for workers: {}", std::string(opened.status().message()));
    return new std::shared_ptr<WorkerCgroups>(opened.ok() ? *std::move(opened) : nullptr);
  }();
  return *cgroups;
}

absl::StatusOr<std::shared_ptr<WorkerCgroups>> WorkerCgroups::open(const std::string& own) {
  if (!is_delegated(own)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the control group '", own, "' is not delegated to the daemon (systemd: Delegate=yes)"));
  }
  std::error_code error;
  fs::directory_iterator it(own, error), end;
  for (; !error && it != end; it.increment(error)) {  // of a daemon that was killed
    if (absl::StartsWith(it->path().filename().native(), kPrefix)) ::rmdir(it->path().c_str());
  }
  const std::string leaf = own + "/hearthd";
  const bool is_leaf = (::mkdir(leaf.c_str(), 0755) == 0 || errno == EEXIST) &&
                       write_file(leaf + "/cgroup.procs", absl::StrCat(::getpid())) &&
                       write_file(own + "/cgroup.subtree_control", "+memory +pids");
  const std::string lacks = is_leaf ? "" : absl::StrCat("no limits, killing only: ", std::strerror(errno));
  return std::shared_ptr<WorkerCgroups>(new WorkerCgroups(own, lacks));
}

std::unique_ptr<WorkerCgroup> WorkerCgroups::make(const CgroupLimits& limits) const {
  std::string path = absl::StrCat(own_, "/", kPrefix, "XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return nullptr;
  auto group = std::make_unique<WorkerCgroup>(path);
  if (!lacks_.empty()) return group;
  if (limits.memory_bytes > 0) write_file(path + "/memory.max", absl::StrCat(limits.memory_bytes));
  write_file(path + "/memory.swap.max", "0");
  write_file(path + "/memory.oom.group", "1");
  if (limits.tasks > 0) write_file(path + "/pids.max", absl::StrCat(limits.tasks));
  return group;
}

absl::StatusOr<std::string> find_own_cgroup() {
  std::string path, place;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (absl::StartsWith(line, "0::")) path = line.substr(3);
  }
  // mountinfo(5): number, parent, device, root, place, options … " - " type source options
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    if (absl::StrContains(line, " - cgroup2 ") && fields.size() > 4 && fields[3] == "/") place = fields[4];
  }
  if (path.empty() || place.empty()) return absl::FailedPreconditionError("there is no cgroup v2 here");
  return path == "/" ? place : place + path;
}

}  // namespace hearth::daemon
