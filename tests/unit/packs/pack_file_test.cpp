// The file of a pack: whole, or an error that says where it is not.
#include <catch2/catch.hpp>
#include <fstream>

#include "base/file.h"
#include "client/files/pack_file.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::client {
namespace {

using Catch::Matchers::Contains;

std::string small_pack() {
  const std::vector<std::string> files = {"first file", "", std::string(100, 'x')};
  v1::PackManifest manifest;
  for (const std::string& bytes : files) {
    v1::PackFile& file = *manifest.add_files();
    file.set_sha256(to_bytes(sha256(bytes)));
    file.set_size(bytes.size());
    v1::PackEntry& entry = *manifest.add_entries();
    entry.set_statement("signed");
    entry.add_files(file.sha256());
  }
  const auto pack = pack_bytes(manifest, {files.begin(), files.end()});
  REQUIRE(pack.ok());
  return *pack;
}

}  // namespace

TEST_CASE("a pack's file is read as it was written") {
  const daemon::TestFolder folder;
  const std::string path = folder / "a.hearthpack", bytes = small_pack();
  REQUIRE(runtime::write_file(path, {bytes}).ok());
  const auto pack = read_pack_file(path);
  REQUIRE(pack.ok());
  CHECK(pack->sha256 == sha256(bytes));
  REQUIRE(pack->manifest.entries_size() == 3);
  CHECK(pack->file(pack->manifest.entries(0).files(0)) == "first file");
  CHECK(pack->file(pack->manifest.entries(2).files(0)) == std::string(100, 'x'));
}

TEST_CASE("a byte changed anywhere in a pack's file is seen") {
  std::string bytes = small_pack();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= 1;
    if (parse_pack(bytes).ok()) FAIL("byte " << i << " of " << bytes.size());
    bytes[i] ^= 1;
  }
  CHECK(parse_pack(bytes).ok());
}

TEST_CASE("a pack that is cut short, or goes on, is named with the remedy") {
  const std::string bytes = small_pack();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto pack = parse_pack(std::string_view(bytes).substr(0, size));
    if (pack.ok()) FAIL(size << " bytes of " << bytes.size());
    if (size >= 8) CHECK_THAT(std::string(pack.status().message()), Contains("copy or export the pack again"));
  }
  CHECK(absl::IsDataLoss(parse_pack(bytes + std::string(64, '\0')).status()));
}

TEST_CASE("what is no pack is said to be none, with its path") {
  const daemon::TestFolder folder;
  const std::string path = folder / "model.onnx";
  std::ofstream(path) << "something else";
  const auto pack = read_pack_file(path);
  CHECK(absl::IsInvalidArgument(pack.status()));
  CHECK_THAT(std::string(pack.status().message()), Contains(path + ": not a pack"));
  CHECK(absl::IsNotFound(read_pack_file(folder / "missing").status()));
  std::string later = small_pack();
  later[8] = 2;
  const auto version = parse_pack(later);
  CHECK(absl::IsFailedPrecondition(version.status()));
  CHECK_THAT(std::string(version.status().message()), Contains("pack version 2; this build reads version 1"));
}

TEST_CASE("a pack whose entries need other files than it has is refused") {
  v1::PackManifest manifest;
  manifest.add_entries()->add_files(std::string(32, 'd'));
  const auto lacking = parse_pack(*pack_bytes(manifest, {}));
  CHECK(absl::IsInvalidArgument(lacking.status()));
  CHECK_THAT(std::string(lacking.status().message()), Contains("entry 0 needs the file 6464"));
  CHECK(absl::IsInvalidArgument(parse_pack(*pack_bytes(v1::PackManifest(), {})).status()));
}

}  // namespace hearth::client
