#include "daemon/worker/trial_load.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hearth::daemon {

bool is_loadable_here(const v1::Target& target, const v1::Artifact& artifact) {
  if (artifact.format() != v1::Artifact::ELF_SO) return false;
  utsname host;
  return ::uname(&host) == 0 && absl::StartsWith(target.triple(), absl::StrCat(host.machine, "-"));
}

absl::Status trial_load(std::string_view shared_library, const std::string& symbol) {
  const int fd = ::memfd_create("hearth-trial", MFD_CLOEXEC);
  if (fd < 0) return absl::InternalError(absl::StrCat("memfd_create: ", std::strerror(errno)));
  absl::Status status = absl::OkStatus();
  while (!shared_library.empty() && status.ok()) {
    const ssize_t written = ::write(fd, shared_library.data(), shared_library.size());
    if (written > 0) {
      shared_library.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      status = absl::InternalError(absl::StrCat("cannot stage an artifact: ", std::strerror(errno)));
    }
  }
  if (status.ok()) {
    void* library = ::dlopen(absl::StrCat("/proc/self/fd/", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      status = absl::InternalError(absl::StrCat("the artifact of kernel '", symbol, "' does not load: ", ::dlerror()));
    } else if (::dlsym(library, symbol.c_str()) == nullptr) {
      status = absl::InternalError(absl::StrCat("the artifact does not export kernel '", symbol, "'"));
    }
    if (library != nullptr) ::dlclose(library);
  }
  ::close(fd);
  return status;
}

}  // namespace hearth::daemon
