// Using up what there is: disk, memory, descriptors, threads. Each stops by itself when nobody stops it.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fault/sandbox/attempts.h"

namespace hearth::sandbox_test {
namespace {

constexpr std::size_t kBlock = 1 << 20;

std::string own(const std::string& name) { return std::string(std::getenv("TMPDIR")) + "/" + name; }

bool write_blocks(int fd, int count) {
  static const std::string block(kBlock, 'x');
  for (int i = 0; i < count; ++i) {
    for (std::size_t done = 0; done < kBlock;) {
      const ssize_t size = ::write(fd, block.data() + done, kBlock - done);
      if (size <= 0) return false;
      done += static_cast<std::size_t>(size);
    }
  }
  return true;
}

// Then waits, so that who looks from outside has time to.
std::string stay(bool done) {
  const std::string went = told(done);
  ::sleep(2);
  return went;
}

std::string fill_folder(const Targets& t) {
  for (int i = 0; i < t.number("files"); ++i) {
    const int fd = ::open(own("file" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600);
    const bool written = fd >= 0 && write_blocks(fd, 1);
    if (fd >= 0) ::close(fd);
    if (!written) return told(false);
  }
  return stay(true);
}

std::string fill_hidden_folder(const Targets& t) {
  // Files can be made in it, but it cannot be listed.
  if (::mkdir(own("hidden").c_str(), 0300) != 0) return told(false);
  for (int i = 0; i < t.number("files"); ++i) {
    const int fd = ::open(own("hidden/file" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600);
    const bool written = fd >= 0 && write_blocks(fd, 1);
    if (fd >= 0) ::close(fd);
    if (!written) return told(false);
  }
  return stay(true);
}

std::string fill_nameless_files(const Targets& t) {
  for (int i = 0; i < t.number("files") / 32; ++i) {
    const int fd = ::open(own("nameless").c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || ::unlink(own("nameless").c_str()) != 0 || !write_blocks(fd, 32)) return told(false);
  }
  return stay(true);
}

std::string fill_memory_files(const Targets& t) {
  for (int i = 0; i < t.number("files") / 32; ++i) {
    const int fd = ::memfd_create("hidden", 0);
    if (fd < 0 || !write_blocks(fd, 32)) return told(false);
  }
  return stay(true);
}

std::string fill_mapped_memory_files(const Targets& t) {
  constexpr std::size_t kFileBytes = 32 * kBlock;
  for (int i = 0; i < t.number("files") / 32; ++i) {
    const int fd = ::memfd_create("hidden", 0);
    if (fd < 0 || !write_blocks(fd, 32)) return told(false);
    void* mapped = ::mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    if (mapped == MAP_FAILED) return told(false);
  }
  return stay(true);
}

std::string one_large_file(const Targets& t) {
  const int fd = ::open(own("large").c_str(), O_WRONLY | O_CREAT, 0600);
  return told(fd >= 0 && write_blocks(fd, t.number("files")));
}

std::string take_memory(const Targets& t) {
  for (int i = 0; i < t.number("files"); ++i) {
    void* volatile memory = std::malloc(kBlock);  // volatile: what nobody reads need not be taken
    if (memory == nullptr) return told(false);
    std::memset(memory, 1, kBlock);
  }
  return stay(true);
}

std::string reserve_memory(const Targets&) {
  constexpr std::size_t kHuge = 1ull << 40;
  return told(::mmap(nullptr, kHuge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
}

std::string open_descriptors(const Targets&) {
  constexpr int kMany = 2'000;
  for (int i = 0; i < kMany; ++i) {
    if (::dup(0) < 0) return told(false);
  }
  return told(true);
}

void* sleep_long(void*) {
  ::sleep(60);
  return nullptr;
}

std::string start_threads(const Targets& t) {
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 64 << 10);
  for (int i = 0; i < t.number("tasks"); ++i) {
    pthread_t thread;
    errno = ::pthread_create(&thread, &small, sleep_long, nullptr);
    if (errno != 0) return told(false);
  }
  return stay(true);
}

std::string start_processes(const Targets& t) {
  for (int i = 0; i < t.number("tasks"); ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setsid();
      ::sleep(60);
      ::_exit(0);
    }
    if (child < 0) return told(false);
  }
  return stay(true);
}

}  // namespace

const AttemptTable& attempts_on_limits() {
  static const AttemptTable table = {
      {"fill the folder", fill_folder},
      {"fill a folder that cannot be listed", fill_hidden_folder},
      {"fill files without names", fill_nameless_files},
      {"fill memory files", fill_memory_files},
      {"fill mapped memory files", fill_mapped_memory_files},
      {"one large file", one_large_file},
      {"take memory", take_memory},
      {"reserve memory", reserve_memory},
      {"open descriptors", open_descriptors},
      {"start threads", start_threads},
      {"start processes", start_processes},
  };
  return table;
}

}  // namespace hearth::sandbox_test
