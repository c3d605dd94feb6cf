// The manifest's file: what is written is read again, deterministically; every wrong field is told by name and place.
#include "blobs/library/manifest.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "blobs/library/blob_spec.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

Blob blob_of(const std::string& stem, std::vector<std::string> flags) {
  return {.stem = stem,
          .family = "fmha_fwd",
          .source = "blob/" + stem + ".cpp",
          .flags = std::move(flags),
          .archs = {"gfx942"},
          .exports = {"_Z9fmha_fwd_I"}};
}

Manifest manifest_of() {
  return {.library = "libmha_fwd",
          .toolchain = kHipToolchain,
          .blobs = {blob_of("fmha_fwd_a", {"-O3", "-I{root}/include"}), blob_of("fmha_fwd_b", {"-O2"}),
                    blob_of("fmha_fwd_c", {"-O3", "-I{root}/include"})}};
}

void check_equal(const Manifest& a, const Manifest& b) {
  CHECK(a.library == b.library);
  CHECK(a.toolchain == b.toolchain);
  REQUIRE(a.blobs.size() == b.blobs.size());
  for (std::size_t i = 0; i < a.blobs.size(); ++i) {
    CHECK(a.blobs[i].stem == b.blobs[i].stem);
    CHECK(a.blobs[i].family == b.blobs[i].family);
    CHECK(a.blobs[i].source == b.blobs[i].source);
    CHECK(a.blobs[i].flags == b.blobs[i].flags);
    CHECK(a.blobs[i].archs == b.blobs[i].archs);
    CHECK(a.blobs[i].exports == b.blobs[i].exports);
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a manifest that is written is read again, whatever the order of its blobs") {
  Manifest shuffled = manifest_of();
  std::swap(shuffled.blobs[0], shuffled.blobs[2]);
  CHECK(manifest_json(shuffled) == manifest_json(manifest_of()));
  const auto read = parse_manifest(manifest_json(shuffled), "m.json");
  REQUIRE(read.ok());
  check_equal(*read, manifest_of());
}

TEST_CASE("flags that blobs share are written once") {
  const std::string text = manifest_json(manifest_of());
  CHECK(text.find("{root}/include") == text.rfind("{root}/include"));
}

TEST_CASE("a blob is found by stem, basename, source path and library path") {
  const Manifest manifest = manifest_of();
  for (const char* name : {"fmha_fwd_b", "fmha_fwd_b.cpp", "/x/y/fmha_fwd_b.cpp", "cache/fmha_fwd_b.so"}) {
    REQUIRE(manifest.find(name) != nullptr);
    CHECK(manifest.find(name)->stem == "fmha_fwd_b");
  }
  CHECK(manifest.find("fmha_fwd_") == nullptr);
  CHECK(manifest.find("fmha_fwd_bb") == nullptr);
  CHECK(manifest.find("") == nullptr);
}

TEST_CASE("a spec has the blob's parts and the root") {
  const Manifest manifest = manifest_of();
  const BlobSpec spec = blob_spec(manifest, manifest.blobs[0], "/r");
  CHECK(spec.stem == "fmha_fwd_a");
  CHECK(spec.root == "/r");
  CHECK(spec.toolchain == kHipToolchain);
  CHECK(spec.flags == manifest.blobs[0].flags);
  CHECK(spec.glue.empty());
}

TEST_CASE("a manifest of another version is told with both versions and the remedy") {
  const auto read =
      parse_manifest(replaced(manifest_json(manifest_of()), "_manifest\": 1", "_manifest\": 2"), "m.json");
  CHECK(read.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(read.status().message()), Catch::Contains("m.json") && Catch::Contains("version 2") &&
                                                       Catch::Contains("version 1") && Catch::Contains("build full"));
}

TEST_CASE("every wrong field is told") {
  const std::string good = manifest_json(manifest_of());
  const struct {
    const char *from, *to, *told;
  } rows[] = {
      {"{\n", "[\n", "is not a JSON object"},
      {"\"hearth_blob_manifest\"", "\"other\"", "is not a blob manifest"},
      {"\"libmha_fwd\"", "7", "has no library"},
      {"\"hip\"", "\"cuda\"", "toolchain is neither"},
      {"\"flag_sets\"", "\"flags\"", "has no flag_sets"},
      {"\"-O2\"", "2", "flag_sets[0] is not a list of strings"},
      {"\"blobs\": [", "\"blobs\": 1, \"x\": [", "has no list of blobs"},
      {"\"stem\": \"fmha_fwd_b\"", "\"stem\": \"\"", "blobs[1]: has no stem"},
      {"\"stem\": \"fmha_fwd_b\"", "\"stem\": \"fmha_fwd_a\"", "is another stem's"},
      {"\"family\"", "\"fam\"", "blobs[0] (fmha_fwd_a): has no family"},
      {"\"source\": \"blob/", "\"source\": \"/blob/", "is not below the root"},
      {"\"source\": \"blob/", "\"source\": \"x/../../", "is not below the root"},
      {"\"flags\": 1", "\"flags\": 9", "not the number of a flag set"},
      {"\"flags\": 1", "\"flags\": -1", "not the number of a flag set"},
      {"\"archs\"", "\"arch\"", "has no list of archs"},
      {"\"_Z9fmha_fwd_I\"", "", "has no exports"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.from, row.to);
    const auto read = parse_manifest(replaced(good, row.from, row.to), "m.json");
    CHECK(read.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(read.status().message()), Catch::Contains("m.json") && Catch::Contains(row.told));
  }
}

TEST_CASE("a stem that is there twice is told") {
  Manifest twice = manifest_of();
  std::string text = manifest_json(twice);
  text = replaced(replaced(text, "\"stem\": \"fmha_fwd_b\"", "\"stem\": \"fmha_fwd_a\""), "blob/fmha_fwd_b.cpp",
                  "other/fmha_fwd_a.cpp");
  CHECK_THAT(std::string(parse_manifest(text, "m.json").status().message()), Catch::Contains("has fmha_fwd_a twice"));
}

TEST_CASE("a manifest that is not there is told by its path; one that is cut short is no manifest") {
  Scratch scratch;
  CHECK(read_manifest(scratch / "none.json").status().code() == absl::StatusCode::kNotFound);
  const std::string text = manifest_json(manifest_of());
  REQUIRE(runtime::write_file(scratch / "cut.json", {text.substr(0, text.size() / 2)}).ok());
  CHECK(read_manifest(scratch / "cut.json").status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hearth::blobs
