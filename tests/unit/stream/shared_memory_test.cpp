// Memory of a GPU that several processes have; here several contexts of one, whose driver is a stand-in.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/unit/stream/stand_in.h"

namespace hearth::runtime {
namespace {

using testing::StandIn;

constexpr std::size_t kSize = (3 << 20) + 5;

std::vector<unsigned char> numbers() {
  std::vector<unsigned char> bytes(kSize);
  std::iota(bytes.begin(), bytes.end(), 0);
  return bytes;
}

}  // namespace

TEST_CASE("memory that one has made another reads, also when the first is gone and nobody holds its descriptor") {
  StandIn::reset();
  const std::uint64_t live = StandIn::live();
  {
    const auto other = StandIn::device();
    absl::StatusOr<Buffer> theirs = absl::InternalError("");
    {
      const auto device = StandIn::device();
      CHECK(device->shares_weights());
      CHECK(device->weights_device() == other->weights_device());
      CHECK(device->weights_device().size() == 16);
      absl::StatusOr<ShareableBuffer> ours = device->allocate_shareable(kSize, "a test");
      REQUIRE(ours.ok());
      std::vector<unsigned char> seen(kSize, 1);
      REQUIRE(device->read(ours->buffer, 0, seen.data(), kSize).ok());
      CHECK(seen == std::vector<unsigned char>(kSize, 0));
      REQUIRE(device->write(ours->buffer, 0, numbers().data(), kSize).ok());
      theirs = other->import_memory(ours->file.get(), kSize, "a test");
      INFO(theirs.status().message());
      REQUIRE(theirs.ok());
    }
    std::vector<unsigned char> seen(kSize);
    REQUIRE(other->read(*theirs, 0, seen.data(), kSize).ok());
    CHECK(seen == numbers());
    CHECK(other->check_memory(theirs->address(), kSize).ok());
  }
  CHECK(StandIn::live() == live);
}

TEST_CASE("a descriptor of other memory, or of none, is an error that names what was asked of the driver") {
  StandIn::reset();
  const auto device = StandIn::device();
  const absl::StatusOr<ShareableBuffer> ours = device->allocate_shareable(kSize, "a test");
  REQUIRE(ours.ok());
  const std::uint64_t live = StandIn::live();
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const std::pair<int, std::size_t> wrong[] = {
      {-1, kSize}, {null.get(), kSize}, {ours->file.get(), 3 * kSize}, {ours->file.get(), 1}};
  for (const auto& [file, size] : wrong) {
    const absl::Status status = device->import_memory(file, size, "the plan's weights").status();
    INFO(file << ", " << size << ": " << status.message());
    CHECK(!status.ok());
    CHECK_THAT(std::string(status.message()), Catch::Contains("the plan's weights"));
    CHECK(StandIn::live() == live);
  }
  CHECK(absl::IsResourceExhausted(device->allocate_shareable(std::size_t{1} << 60, "a test").status()));
}

TEST_CASE("where what is imported cannot be read alone, it is had as it can be") {
  StandIn::reset();
  const auto device = StandIn::device();
  const absl::StatusOr<ShareableBuffer> ours = device->allocate_shareable(kSize, "a test");
  REQUIRE(ours.ok());
  StandIn::fail(Entry::memory_access, 1, 801);
  const absl::StatusOr<Buffer> theirs = device->import_memory(ours->file.get(), kSize, "a test");
  INFO(theirs.status().message());
  CHECK(StandIn::has_failed());
  CHECK(theirs.ok());
  StandIn::reset();
}

TEST_CASE("managed memory is no process's to give") {
  ::setenv("HEARTH_DEVICE_MEMORY", "managed", 1);
  CHECK_FALSE(StandIn::device()->shares_weights());
  ::unsetenv("HEARTH_DEVICE_MEMORY");
}

}  // namespace hearth::runtime
