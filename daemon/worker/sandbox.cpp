#include "daemon/worker/sandbox.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include <cstdio>
#include <utility>

#include "daemon/worker/keeper.h"
#include "daemon/worker/landlock.h"
#include "daemon/worker/private_root.h"
#include "daemon/worker/process_limits.h"
#include "daemon/worker/syscall_filter.h"

namespace hearth::daemon {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr char kRelaxed[] = "relaxed for a sanitizer build";
#else
constexpr char kRelaxed[] = "";
#endif
constexpr char kLeftOut[] = "left out";
bool is_filtered = false;  // set before the worker has threads

constexpr std::uint64_t kDescriptors = 256;  // of the compiler worker, which needs a dozen
constexpr std::uint64_t kDescriptorsWithPrograms = 1024;

// Where shared libraries are. The compiler reads nothing else: what it compiles comes over the socket.
const std::vector<std::string> kLibraries = {"/usr/lib", "/usr/lib64", "/usr/local/lib",
                                             "/lib",     "/lib64",     "/etc/ld.so.cache"};
// Where compilers, their headers and what they start are.
const std::vector<std::string> kSystem = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives"};
constexpr char kProcessors[] = "/sys/devices/system/cpu";
constexpr char kLoad[] = "/proc/stat";  // which processor is idle, for timing kernels

constexpr std::pair<const char*, int> kNamespaces[] = {{layer::kUserNamespace, CLONE_NEWUSER},
                                                       {layer::kMountNamespace, CLONE_NEWNS},
                                                       {layer::kPidNamespace, CLONE_NEWPID},
                                                       {layer::kNetworkNamespace, CLONE_NEWNET},
                                                       {layer::kIpcNamespace, CLONE_NEWIPC}};

std::vector<std::string> joined(std::vector<std::string> list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

// Before this version the limit of processes counted those of all user namespaces.
bool counts_by_namespace() {
  utsname system{};
  int major = 0, minor = 0;
  return ::uname(&system) == 0 && std::sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
         std::pair(major, minor) >= std::pair(5, 14);
}

// Takes the layers one after the other; the last ones take away what the first ones need.
class Entrance {
 public:
  explicit Entrance(const SandboxOptions& options) : options_(options) {}

  bool wants(const char* name) const { return !options_.without.contains(name); }

  int wanted_namespaces() const {
    int flags = 0;
    for (const auto& [name, flag] : kNamespaces) flags |= wants(name) ? flag : 0;
    return flags;
  }

  void report_namespaces(const Namespaces& inside) {
    for (const auto& [name, flag] : kNamespaces) {
      if (flag == CLONE_NEWNS) continue;
      if (!wants(name)) {
        off(name, kLeftOut);
      } else if ((inside.flags & flag) == 0) {
        off(name, inside.why.at(flag));
      } else {
        const std::string lacks =
            flag != CLONE_NEWUSER || inside.unmapped.empty() ? "" : "no users: " + inside.unmapped;
        on(name, lacks);
      }
    }
  }

  void change_root(const Namespaces& inside) {
    if (!wants(layer::kMountNamespace)) return off(layer::kMountNamespace, kLeftOut);
    if ((inside.flags & CLONE_NEWNS) == 0) return off(layer::kMountNamespace, inside.why.at(CLONE_NEWNS));
    if (options_.folder.empty()) return off(layer::kMountNamespace, "there is no private folder");
    std::vector<std::string> trees = joined(options_.programs ? kSystem : kLibraries, options_.reads);
    trees = joined(std::move(trees), options_.runs);
    trees.emplace_back(kProcessors);
    const absl::Status made = enter_private_root({.folder = options_.folder,
                                                  .folder_bytes = options_.folder_bytes,
                                                  .names = std::move(trees),
                                                  .trees = options_.trees,
                                                  .covers = options_.covers});
    made.ok() ? on(layer::kMountNamespace, "") : off(layer::kMountNamespace, made.message());
  }

  void limit(const Namespaces& inside) {
    if (!wants(layer::kLimits)) return off(layer::kLimits, kLeftOut);
    const bool has_users = (inside.flags & CLONE_NEWUSER) != 0 && counts_by_namespace();
    const std::string lacking =
        limit_process({.memory_bytes = options_.memory_bytes,
                       .output_bytes = options_.output_bytes,
                       .processor_s = options_.processor_s,
                       .descriptors = options_.programs ? kDescriptorsWithPrograms : kDescriptors,
                       .tasks = has_users ? options_.tasks : 0});
    on(layer::kLimits, lacking.empty() ? kRelaxed : lacking);
  }

  void restrict_opening() {
    if (!wants(layer::kLandlock)) return off(layer::kLandlock, kLeftOut);
    FileRights rights;
    if (!options_.folder.empty()) rights.writes = {options_.folder};
    rights.reads = joined(options_.reads, {kProcessors, options_.programs ? "/proc" : kLoad, "/dev/urandom"});
    if (options_.programs) {
      rights.runs = joined(kSystem, options_.runs);
    } else {
      rights.reads = joined(std::move(rights.reads), kLibraries);
    }
    rights.trees = options_.trees;
    rights.devices = {"/dev/null", "/dev/full"};  // zero can be mapped, as anonymous shared memory
    const LandlockResult result = restrict_files(rights);
    if (result.abi == 0) return off(layer::kLandlock, result.why);
    const std::string lacks = result.lacks();
    const std::string version = "ABI " + std::to_string(result.abi);
    add_layer(&report_, layer::kLandlock, lacks.empty() ? v1::SandboxLayer::ON : v1::SandboxLayer::PARTIAL,
              lacks.empty() ? version : version + " cannot deny " + lacks);
  }

  void filter_calls() {
    if (!wants(layer::kSeccomp)) return off(layer::kSeccomp, kLeftOut);
    const std::string why = filter_system_calls({.programs = options_.programs});
    why.empty() ? on(layer::kSeccomp, kRelaxed) : off(layer::kSeccomp, why);
    is_filtered = why.empty();
  }

  const v1::SandboxReport& report() const { return report_; }

 private:
  void on(const char* name, std::string_view lacks) {
    add_layer(&report_, name, lacks.empty() ? v1::SandboxLayer::ON : v1::SandboxLayer::PARTIAL, lacks);
  }
  template <class Text>
  void off(const char* name, const Text& why) {
    add_layer(&report_, name, v1::SandboxLayer::OFF, std::string(why));
  }

  const SandboxOptions& options_;
  v1::SandboxReport report_;
};

}  // namespace

#ifdef __SANITIZE_ADDRESS__
// Asked by LeakSanitizer when the process ends: it looks for leaks by ptrace, which the filter denies.
extern "C" int __lsan_is_turned_off() { return is_filtered ? 1 : 0; }
#endif

std::optional<v1::SandboxReport> enter_sandbox(const SandboxOptions& options) {
  Entrance entrance(options);
  const std::optional<Namespaces> inside =
      start_beneath_keeper({.parent = options.parent,
                            .socket = options.socket,
                            .wanted = entrance.wanted_namespaces(),
                            .remove = options.remove_folder ? options.folder : std::string()});
  if (!inside) return std::nullopt;
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // Landlock and seccomp ask for it
  entrance.report_namespaces(*inside);
  entrance.change_root(*inside);
  entrance.limit(*inside);
  entrance.restrict_opening();
  entrance.filter_calls();
  return entrance.report();
}

}  // namespace hearth::daemon
