#include "daemon/worker/process_limits.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hearth::daemon {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizer = true;  // reserves terabytes of address space
#else
constexpr bool kSanitizer = false;
#endif

// Address space is not memory: LLVM and the C library reserve more than they touch. The daemon watches real use.
constexpr std::uint64_t kAddressHeadRoomBytes = 2ull << 30;

class Limiter {
 public:
  // Never above what is allowed already.
  void set(int resource, std::uint64_t value, const char* name) {
    const auto which = static_cast<__rlimit_resource>(resource);
    rlimit limit{};
    if (::getrlimit(which, &limit) == 0) limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(which, &limit) != 0) note(name);
  }
  void note(const char* what) {
    lacking_ += (lacking_.empty() ? "" : ", ") + std::string(what) + ": " + std::strerror(errno);
  }
  const std::string& lacking() const { return lacking_; }

 private:
  std::string lacking_;
};

void drop_capabilities(Limiter& limiter) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Root's programs would get them back; both need a capability, which only a new user namespace or root has.
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  ::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0) limiter.note("capset");
}

}  // namespace

std::string limit_process(const ProcessLimits& limits) {
  Limiter limiter;
  ::umask(077);
  limiter.set(RLIMIT_CORE, 0, "RLIMIT_CORE");
  limiter.set(RLIMIT_MSGQUEUE, 0, "RLIMIT_MSGQUEUE");
  limiter.set(RLIMIT_MEMLOCK, 0, "RLIMIT_MEMLOCK");
  if (limits.output_bytes > 0) limiter.set(RLIMIT_FSIZE, limits.output_bytes, "RLIMIT_FSIZE");
  if (limits.processor_s > 0) limiter.set(RLIMIT_CPU, limits.processor_s, "RLIMIT_CPU");
  if (limits.descriptors > 0) limiter.set(RLIMIT_NOFILE, limits.descriptors, "RLIMIT_NOFILE");
  if (limits.tasks > 0) limiter.set(RLIMIT_NPROC, limits.tasks, "RLIMIT_NPROC");
  if (limits.memory_bytes > 0 && !kSanitizer)
    limiter.set(RLIMIT_AS, limits.memory_bytes + kAddressHeadRoomBytes, "RLIMIT_AS");
  drop_capabilities(limiter);
  return limiter.lacking();
}

}  // namespace hearth::daemon
