// A pack as an OCI image layout: as the image specification has it, and read from what other tools make of it.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"
#include "client/files/oci_layout.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::client {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string text_of(const fs::path& path) { return *runtime::read_file(path.string()); }

fs::path blob_of(const std::string& folder, const std::string& digest) {
  return fs::path(folder) / "blobs" / "sha256" / digest.substr(7);
}

std::string message_of(const std::string& folder) { return std::string(pack_in_oci_layout(folder).status().message()); }

}  // namespace

TEST_CASE("an OCI layout is what the image specification asks for") {
  const daemon::TestFolder folder;
  const std::string layout = folder / "layout", pack = "the pack's bytes";
  const auto digest = write_oci_layout(layout, pack, "a.hearthpack");
  REQUIRE(digest.ok());
  CHECK(Json::parse(text_of(fs::path(layout) / "oci-layout"))["imageLayoutVersion"] == "1.0.0");
  const Json index = Json::parse(text_of(fs::path(layout) / "index.json"));
  CHECK(index["schemaVersion"] == 2);
  REQUIRE(index["manifests"].size() == 1);
  CHECK(index["manifests"][0]["digest"] == *digest);
  const std::string text = text_of(blob_of(layout, *digest));
  CHECK("sha256:" + to_hex(sha256(text)) == *digest);
  CHECK(index["manifests"][0]["size"] == text.size());
  const Json manifest = Json::parse(text);
  CHECK(manifest["artifactType"] == "application/vnd.hearth.pack.v1");
  // The descriptor of "{}" that the specification gives.
  CHECK(manifest["config"]["digest"] == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
  CHECK(manifest["config"]["size"] == 2);
  CHECK(text_of(blob_of(layout, manifest["config"]["digest"])) == "{}");
  REQUIRE(manifest["layers"].size() == 1);
  CHECK(manifest["layers"][0]["annotations"]["org.opencontainers.image.title"] == "a.hearthpack");
  CHECK(text_of(blob_of(layout, manifest["layers"][0]["digest"])) == pack);
  const auto found = pack_in_oci_layout(layout);
  REQUIRE(found.ok());
  CHECK(text_of(*found) == pack);
}

TEST_CASE("an OCI layout overwrites nothing") {
  const daemon::TestFolder folder;
  const std::string there = folder / "there";
  fs::create_directory(there);
  CHECK(write_oci_layout(there, "pack", "a").ok());  // empty
  const absl::Status again = write_oci_layout(there, "pack", "a").status();
  CHECK(absl::IsAlreadyExists(again));
  CHECK_THAT(std::string(again.message()), Contains(there));
}

TEST_CASE("a layout that is none, empty, damaged or of several packs is named with what is wrong") {
  const daemon::TestFolder folder;
  const std::string layout = folder / "layout";
  CHECK_THAT(message_of(folder / "missing"), Contains("no OCI image layout"));
  const std::string digest = *write_oci_layout(layout, "pack", "a");
  const fs::path index = fs::path(layout) / "index.json";
  const Json sound = Json::parse(text_of(index));
  const auto write = [&](const fs::path& path, const std::string& text) { std::ofstream(path) << text; };
  SECTION("another byte in the pack") {
    const fs::path pack = *pack_in_oci_layout(layout);
    fs::permissions(pack, fs::perms::owner_all);
    write(pack, "paCk");
    CHECK(absl::IsDataLoss(pack_in_oci_layout(layout).status()));
    CHECK_THAT(message_of(layout), Contains(pack.string()));
  }
  SECTION("another byte in the manifest") {
    write(blob_of(layout, digest), text_of(blob_of(layout, digest)) + " ");
    CHECK(absl::IsDataLoss(pack_in_oci_layout(layout).status()));
  }
  SECTION("an index that is no JSON, and ones that lead elsewhere") {
    for (const char* text : {"", "[", "[]", "nonsense"}) {
      write(index, text);
      CHECK_THAT(message_of(layout), Contains("no JSON object"));
    }
    for (const char* text : {"{}", R"({"manifests":7})", R"({"manifests":[7,{"mediaType":7}]})",
                             R"({"manifests":[{"mediaType":"text/plain"}]})"}) {
      write(index, text);
      CHECK_THAT(message_of(layout), Contains("no pack in it"));
    }
    for (const char* name : {"", "sha256:", "sha256:../../../../etc/passwd", "md5:44136fa355b3678a1146ad16f7e8649e"}) {
      Json other = sound;
      other["manifests"][0]["digest"] = name;
      write(index, other.dump());
      CHECK_THAT(message_of(layout), Contains("no SHA-256 digest"));
    }
    Json gone = sound;
    gone["manifests"][0]["digest"] = "sha256:" + std::string(64, '0');
    write(index, gone.dump());
    CHECK(absl::IsNotFound(pack_in_oci_layout(layout).status()));
  }
  SECTION("several packs") {
    const std::string second = folder / "second";
    const std::string other = *write_oci_layout(second, "another pack", "a");
    for (const auto& blob : fs::directory_iterator(fs::path(second) / "blobs/sha256")) {
      fs::copy_file(blob.path(), fs::path(layout) / "blobs/sha256" / blob.path().filename(),
                    fs::copy_options::overwrite_existing);
    }
    Json both = sound;
    both["manifests"].push_back(Json::parse(text_of(fs::path(second) / "index.json"))["manifests"][0]);
    write(index, both.dump());
    CHECK_THAT(message_of(layout), Contains("2 packs in it"));
  }
}

}  // namespace hearth::client
