#include "daemon/worker/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace hearth::daemon {
namespace {

// Debian 12's headers know ABI 2 only.
constexpr std::uint64_t kTruncate = 1ull << 14;                        // ABI 3
constexpr std::uint64_t kIoctlDevice = 1ull << 15;                     // ABI 5
constexpr std::uint64_t kBindTcp = 1, kConnectTcp = 2;                 // ABI 4
constexpr std::uint64_t kScopeAbstractSockets = 1, kScopeSignals = 2;  // ABI 6

struct RulesetAttributes {
  std::uint64_t files = 0, network = 0, scoped = 0;
};

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kRun = kRead | LANDLOCK_ACCESS_FS_EXECUTE;
// No sockets, pipes or devices.
constexpr std::uint64_t kWrite = kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER |
                                 kTruncate;
// What a rule for a file may have; the others are rights of folders.
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                   LANDLOCK_ACCESS_FS_READ_FILE | kTruncate | kIoctlDevice;

RulesetAttributes known_by(int abi) {
  RulesetAttributes known;
  known.files = LANDLOCK_ACCESS_FS_REFER - 1;  // the thirteen of ABI 1
  if (abi >= 2) known.files |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) known.files |= kTruncate;
  if (abi >= 4) known.network = kBindTcp | kConnectTcp;
  if (abi >= 5) known.files |= kIoctlDevice;
  if (abi >= 6) known.scoped = kScopeAbstractSockets | kScopeSignals;
  return known;
}

// An older kernel takes a shorter struct, and refuses a longer one whose end is not zero.
std::size_t size_for(int abi) {
  return abi >= 6 ? sizeof(RulesetAttributes) : abi >= 4 ? 2 * sizeof(std::uint64_t) : sizeof(std::uint64_t);
}

class Ruleset {
 public:
  Ruleset(int fd, std::uint64_t known) : fd_(fd), known_(known) {}
  ~Ruleset() { ::close(fd_); }
  Ruleset(const Ruleset&) = delete;
  Ruleset& operator=(const Ruleset&) = delete;

  bool allow(const std::vector<std::string>& paths, std::uint64_t rights) {
    for (const std::string& path : paths) {
      if (!allow(path, rights)) return false;
    }
    return true;
  }
  bool allow(const std::vector<ReadableTree>& trees, std::uint64_t rights) {
    for (const ReadableTree& tree : trees) {
      const UniqueFd place = open_tree(tree);
      if (place && !allow(place.get(), rights)) return false;
    }
    return true;
  }
  bool enforce() { return ::syscall(SYS_landlock_restrict_self, fd_, 0) == 0; }

 private:
  bool allow(int place, std::uint64_t rights) {
    struct stat info{};
    if (::fstat(place, &info) != 0) return false;
    landlock_path_beneath_attr rule{};
    rule.allowed_access = rights & known_ & (S_ISDIR(info.st_mode) ? ~0ull : kOfFiles);
    rule.parent_fd = place;
    return ::syscall(SYS_landlock_add_rule, fd_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  }
  bool allow(const std::string& path, std::uint64_t rights) {
    const int place = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    if (place < 0) return errno == ENOENT || errno == EACCES || errno == ENOTDIR;
    const bool allowed = allow(place, rights);
    // A rule is for an inode, and /proc makes new ones at need: an open descriptor keeps those of its files.
    if (!path.starts_with("/proc/")) ::close(place);
    return allowed;
  }

  const int fd_;
  const std::uint64_t known_;
};

}  // namespace

std::string LandlockResult::lacks() const {
  constexpr std::pair<int, const char*> kSince[] = {{2, "moving files between folders"},
                                                    {3, "truncation"},
                                                    {4, "TCP"},
                                                    {5, "device control"},
                                                    {6, "signals and abstract sockets"}};
  std::string list;
  for (const auto& [since, what] : kSince) {
    // ABI 1 denies such moves always, which loses nothing.
    if (abi >= since || since == 2) continue;
    list += (list.empty() ? "" : ", ") + std::string(what);
  }
  return list;
}

LandlockResult restrict_files(const FileRights& rights) {
  const auto off = [](const char* what) { return LandlockResult{0, std::string(what) + ": " + std::strerror(errno)}; };
  constexpr unsigned kAskVersion = 1;
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (abi < 1) return off("the kernel has no Landlock");
  const RulesetAttributes known = known_by(static_cast<int>(abi));
  const long fd = ::syscall(SYS_landlock_create_ruleset, &known, size_for(static_cast<int>(abi)), 0);
  if (fd < 0) return off("landlock_create_ruleset");
  Ruleset rules(static_cast<int>(fd), known.files);
  constexpr std::uint64_t kDevice = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
  if (!rules.allow(rights.writes, kWrite) || !rules.allow(rights.runs, kRun) || !rules.allow(rights.reads, kRead) ||
      !rules.allow(rights.trees, kRead) || !rules.allow(rights.devices, kDevice))
    return off("landlock_add_rule");
  if (!rules.enforce()) return off("landlock_restrict_self");
  return {static_cast<int>(abi), ""};
}

}  // namespace hearth::daemon
