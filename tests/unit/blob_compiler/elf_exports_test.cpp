// The reader of object files: hostile bytes are an error, never a crash.
#include "compiler/blobs/elf_exports.h"

#include <catch2/catch.hpp>

#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;

TEST_CASE("Exports of a real object, by prefix with its length") {
  const Place place;
  BlobSpec spec = place.spec();
  REQUIRE(place.compile(spec).ok());
  const std::string bytes = place.read("work/x.so");
  CHECK(check_blob_object(bytes, {kExport}, {}).ok());
  CHECK(absl::IsDataLoss(check_blob_object(bytes, {"_Z9hearth_f_Id"}, {})));
  CHECK(absl::IsDataLoss(check_blob_object(bytes, {kExport}, {"gfx942"})));
  const auto object = read_elf_object(bytes);
  REQUIRE(object.ok());
  CHECK(object->functions == std::vector<std::string>{"_Z9hearth_f_IfET_S0_"});
  CHECK_FALSE(object->has_fat_binary);
}

TEST_CASE("Truncated and damaged objects") {
  const Place place;
  REQUIRE(place.compile(place.spec()).ok());
  const std::string bytes = place.read("work/x.so");
  for (std::size_t size = 0; size < bytes.size(); size += 61)
    CHECK_FALSE(check_blob_object(bytes.substr(0, size), {kExport}, {}).ok());
  // Any byte may be anything: the answer may be yes or no, but there is one.
  std::uint32_t state = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 8; ++i) {
      state = state * 1664525 + 1013904223;
      const std::size_t at = i % 2 == 0 ? state % damaged.size() : damaged.size() - 1 - (state >> 8) % 2048;
      damaged[at] = static_cast<char>(state >> 24);
    }
    (void)check_blob_object(damaged, {kExport}, {"gfx942"}).ok();
  }
  CHECK_FALSE(check_blob_object("", {}, {}).ok());
}

TEST_CASE("An object for another machine") {
  const Place place;
  REQUIRE(place.compile(place.spec()).ok());
  std::string bytes = place.read("work/x.so");
  bytes[18] = 40;  // e_machine: ARM
  const absl::Status status = check_blob_object(bytes, {kExport}, {});
  CHECK(absl::IsDataLoss(status));
  says(status, "another machine");
}
