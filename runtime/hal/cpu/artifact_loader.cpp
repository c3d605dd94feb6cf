#include "runtime/hal/cpu/artifact_loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "base/status_macros.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "runtime/hal/artifact_bytes.h"

namespace hearth::runtime {
namespace {

// glibc takes an object with a known name for the one that is loaded already, and descriptor numbers come back, so
// each load gets its own spelling of the path: "//" and "/./" name the same folder and stand for the bits of a counter.
std::string unique_path(int fd) {
  static std::atomic<std::uint64_t> counter{0};
  std::string path = "/proc/self";
  for (std::uint64_t bits = counter.fetch_add(1) + 1; bits != 0; bits >>= 1) path += bits & 1 ? "/." : "/";
  return path + "/fd/" + std::to_string(fd);
}

absl::StatusOr<std::shared_ptr<const CpuArtifact>> open_library(int fd, const std::string& shown) {
  void* handle = dlopen(unique_path(fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    return absl::FailedPreconditionError(str_cat(shown, " cannot be loaded: ", reason ? reason : "unknown error"));
  }
  return std::make_shared<const CpuArtifact>(handle);
}

// An empty memory file that can be sealed and executed; -1 with errno.
int memory_file() {
#ifndef MFD_EXEC
  constexpr unsigned MFD_EXEC = 0x10;  // needed where vm.memfd_noexec is 1; unknown to kernels before 6.3
#endif
  const int fd = memfd_create("hearth-artifact", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  return fd >= 0 || errno != EINVAL ? fd : memfd_create("hearth-artifact", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

// `file` is where the bytes come from, or -1.
absl::StatusOr<std::shared_ptr<const CpuArtifact>> load_sealed(std::string_view bytes, int file,
                                                               const std::string& shown) {
  const UniqueFd fd(memory_file());
  if (!fd) {
    if (file >= 0 && (errno == EACCES || errno == EPERM || errno == ENOSYS)) return open_library(file, shown);
    return absl::ResourceExhaustedError(str_cat(shown, ": no memory file: ", std::strerror(errno)));
  }
  while (!bytes.empty()) {
    const ssize_t count = write(fd.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return absl::ResourceExhaustedError(str_cat(shown, ": no memory: ", std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return absl::FailedPreconditionError(str_cat(shown, ": sealing failed: ", std::strerror(errno)));
  }
  return open_library(fd.get(), shown);
}

struct Cache {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const CpuArtifact>> by_digest;
};

Cache& cache() {
  static Cache* const instance = new Cache;  // never destroyed: artifacts may be released during exit
  return *instance;
}

}  // namespace

CpuArtifact::~CpuArtifact() { dlclose(handle_); }

void* CpuArtifact::symbol(const char* name) const { return dlsym(handle_, name); }

absl::StatusOr<std::shared_ptr<const CpuArtifact>> load_cpu_artifact(const ArtifactSource& source) {
  const std::lock_guard<std::mutex> lock(cache().mutex);
  std::weak_ptr<const CpuArtifact>& known = cache().by_digest[source.digest];
  if (std::shared_ptr<const CpuArtifact> artifact = known.lock()) return artifact;
  HEARTH_ASSIGN_OR_RETURN(const ArtifactBytes read, read_artifact(source));
  absl::StatusOr<std::shared_ptr<const CpuArtifact>> artifact = load_sealed(read.bytes, read.file.get(), read.shown);
  HEARTH_RETURN_IF_ERROR(artifact.status());
  known = *artifact;
  return artifact;
}

}  // namespace hearth::runtime
