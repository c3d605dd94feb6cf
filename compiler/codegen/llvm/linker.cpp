#include "compiler/codegen/llvm/linker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "lld/Common/Driver.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

namespace hearth::codegen {
namespace {

absl::Status system_error(const char* what) {
  return absl::InternalError(absl::StrCat("link: ", what, ": ", std::strerror(errno)));
}

std::string path_of(const UniqueFd& file) { return absl::StrCat("/proc/self/fd/", file.get()); }

absl::Status write_all(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error("writing the object to memory");
    done += static_cast<std::size_t>(n);
  }
  return absl::OkStatus();
}

std::string read_to_end(int fd) {
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
}

absl::Status check_undefined(const std::string& object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel.o"));
  if (!file) return absl::InternalError(absl::StrCat("link: ", llvm::toString(file.takeError())));
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) return absl::InternalError("link: the object's symbol table cannot be read");
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined) || name->empty()) continue;
    if (*name != "memcpy" && *name != "memmove" && *name != "memset") {
      return absl::InternalError(
          absl::StrCat("link: the kernel calls \"", name->str(),
                       "\", which a kernel must not; the emitter lacks an expansion for this target"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> link_shared(const std::string& object) {
  HEARTH_RETURN_IF_ERROR(check_undefined(object));

  // lld takes paths only. It maps its input, so that is an anonymous file; its output goes through a pipe, which lld
  // writes in one piece at the end and for which it makes no temporary file.
  UniqueFd input(memfd_create("kernel.o", MFD_CLOEXEC));
  if (!input) return system_error("memfd_create");
  HEARTH_RETURN_IF_ERROR(write_all(input.get(), object));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe2");
  UniqueFd output(ends[0]), output_writer(ends[1]);

  const std::string input_path = path_of(input), output_path = path_of(output_writer);
  const std::array<const char*, 14> arguments = {
      "ld.lld",         "-shared",     "--build-id=none", "--hash-style=gnu", "-z", "noseparate-code",  "-z", "norelro",
      "--no-rosegment", "--strip-all", "--threads=1",     input_path.c_str(), "-o", output_path.c_str()};

  static std::mutex mutex;
  static bool usable = true;
  std::string messages, library;
  llvm::raw_string_ostream stream(messages);
  std::lock_guard lock(mutex);
  if (!usable) return absl::InternalError("link: lld crashed earlier in this process; restart it");
  std::thread reader([&] { library = read_to_end(output.get()); });
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  lld::Result result = lld::lldMain(arguments, stream, stream, drivers);
  usable = result.canRunAgain;
  output_writer.reset();
  reader.join();
  if (result.retCode != 0) return absl::InternalError(absl::StrCat("link: ", stream.str()));
  if (library.empty()) return absl::InternalError("link: lld wrote nothing");
  return library;
}

}  // namespace hearth::codegen
