#include "runtime/weights/weight_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "base/memory_file.h"

using namespace hearth;
using namespace hearth::runtime;

namespace {

constexpr std::size_t kSizes[] = {100, std::size_t{1} << 20, (std::size_t{5} << 20) + 12345};

WeightBlock sealed_block(std::size_t size) {
  absl::StatusOr<WeightBlock> block = WeightBlock::create_shareable(size);
  REQUIRE(block.ok());
  std::memset(block->data(), 'w', size);
  REQUIRE(block->seal().ok());
  return *std::move(block);
}

UniqueFd copy_of(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

bool is_all(const void* data, std::size_t size, char value) {
  const auto* bytes = static_cast<const char*>(data);
  return std::all_of(bytes, bytes + size, [&](char byte) { return byte == value; });
}

// Through /proc/self/mem, where a debugger writes to read-only pages, too.
bool can_poke(void* address) {
  const UniqueFd memory(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  REQUIRE(memory);
  return ::pwrite(memory.get(), "x", 1, reinterpret_cast<off_t>(address)) == 1;
}

}  // namespace

TEST_CASE("nobody can write to weights once they are sealed, by memory or by file") {
  for (const std::size_t size : kSizes) {
    WeightBlock block = sealed_block(size);
    CHECK(::mprotect(block.data(), size, PROT_READ | PROT_WRITE) != 0);
    can_poke(block.data());  // a private page may change, where the system has given those; the file does not
    CHECK(::pwrite(block.fd(), "x", 1, 0) < 0);
    CHECK(::ftruncate(block.fd(), 0) < 0);
    CHECK(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, block.fd(), 0) == MAP_FAILED);
    CHECK(::fcntl(block.fd(), F_ADD_SEALS, F_SEAL_GROW) < 0);
    const absl::StatusOr<WeightBlock> other = WeightBlock::map(copy_of(block.fd()), size);
    REQUIRE(other.ok());
    CHECK(is_all(other->data(), size, 'w'));
    CHECK(other->data() != block.data());
  }
}

TEST_CASE("weights outlive their descriptor, the one who made them and a fork") {
  const std::size_t size = kSizes[2];
  absl::StatusOr<WeightBlock> other;
  {
    const WeightBlock block = sealed_block(size);
    other = WeightBlock::map(copy_of(block.fd()), size);
  }
  REQUIRE(other.ok());
  other->close_fd();
  WeightBlock moved = *std::move(other);
  CHECK(moved.fd() < 0);
  CHECK(is_all(moved.data(), size, 'w'));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(is_all(moved.data(), size, 'w') ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("a process that forks while it fills weights can still seal them") {
  absl::StatusOr<WeightBlock> block = WeightBlock::create_shareable(kSizes[1]);
  REQUIRE(block.ok());
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();  // with all that the parent had mapped
  if (child == 0) {
    char byte;
    ::close(pipe[1]);
    ::_exit(::read(pipe[0], &byte, 1) == 0 ? 0 : 1);
  }
  std::memset(block->data(), 'w', kSizes[1]);
  CHECK(block->seal().ok());
  CHECK(is_all(block->data(), kSizes[1], 'w'));
  for (const int end : pipe) ::close(end);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a file that somebody could change is not taken for weights") {
  const std::size_t size = kSizes[1];
  absl::StatusOr<UniqueFd> open = create_memory_file("test", size);
  REQUIRE(open.ok());
  CHECK(absl::IsFailedPrecondition(WeightBlock::map(copy_of(open->get()), size).status()));
  REQUIRE(::fcntl(open->get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  CHECK(absl::IsFailedPrecondition(WeightBlock::map(copy_of(open->get()), size).status()));
  REQUIRE(seal_memory_file(open->get()).ok());
  CHECK(WeightBlock::map(copy_of(open->get()), size).ok());
  CHECK(absl::IsFailedPrecondition(WeightBlock::map(copy_of(open->get()), size - 1).status()));
  CHECK(absl::IsFailedPrecondition(WeightBlock::map(UniqueFd(::open("/dev/zero", O_RDONLY)), size).status()));
  CHECK(absl::IsFailedPrecondition(WeightBlock::map(UniqueFd(), size).status()));
}
