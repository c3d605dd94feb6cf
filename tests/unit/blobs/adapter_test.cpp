// Adapters and libraries: what is read, what is refused and how it is said.
#include "blobs/library/adapter.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "runtime/blob_library.h"
#include "tests/unit/blobs/sample_library.h"

namespace hearth::blobs {
namespace {

using Catch::Contains;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("the shipped adapter reads stems of both spellings") {
  const absl::StatusOr<Adapter> adapter = parse_adapter(test::shipped_adapter(), "a.toml");
  INFO(adapter.status());
  REQUIRE(adapter.ok());
  Blob blob;
  blob.family = "fmha_fwd";
  // The example of the facts about CK: absent features are left out.
  blob.stem = "fmha_fwd_d128_fp16_batch_b128x128x32x128x32x128_r4x1x1_w32x32x16_qr_async_vc_psddv";
  std::optional<ReadStem> stem = adapter->read(blob);
  REQUIRE(stem);
  CHECK(stem->at("hdim") == "128");
  CHECK(stem->at("pipeline") == "qr_async");
  CHECK(stem->at("v_layout") == "c");
  CHECK(stem->at("pad_s") == "s");
  CHECK(stem->at("pad_sk").empty());
  CHECK(stem->at("pad_d") == "d");
  CHECK(stem->at("pad_dv") == "dv");
  CHECK(stem->at("mask").empty());

  blob.stem = test::fwd_stem(64, "bf16", "npad", "nlogits_alibi_mc_lse_ndropout_nskip_nsquant", "group");
  stem = adapter->read(blob);
  REQUIRE(stem);
  CHECK(stem->at("dtype") == "bf16");
  CHECK(stem->at("mode") == "group");
  CHECK(stem->at("pad_s").empty());
  CHECK(stem->at("bias") == "alibi");
  CHECK(stem->at("mask") == "mc");
  CHECK(stem->at("lse") == "lse");

  blob.family = "fmha_bwd";
  CHECK_FALSE(adapter->read(blob));
  blob.family = "fmha_fwd";
  blob.stem += "_gfx950";  // a newer generator's, whose aliases have other names
  CHECK_FALSE(adapter->read(blob));
}

TEST_CASE("an adapter that says something wrong is refused by file and key") {
  struct Row {
    const char *from, *to, *expected;
  };
  for (const Row& row : {
           Row{"hearth_blob_adapter = 1", "hearth_blob_adapter = 2", "version 2, this hearth reads 1"},
           Row{"hearth_blob_adapter = 1", "other = 1", "has no hearth_blob_adapter"},
           Row{"op = \"scaled", "op = \"unscaled", "op is not"},
           Row{"toolchain = \"c++\"", "toolchain = \"rust\"", "toolchain is neither"},
           Row{"toolchain = \"c++\"", "toolchain = ", "a.toml:"},
           Row{"fmha_fwd_d(\\d+)_", "fmha_fwd_d((\\d+)_", "no regular expression"},
           Row{"\"squant\"]", "\"squant\", \"more\"]", "18 groups and groups names 19"},
           Row{"\"hdim\", \"dtype\"", "\"hdim\", \"type\"", "no \"dtype\""},
           Row{"padded = \"pad_sk\"", "padded = \"pad_x\"", "fits.seqlen_k: no group pad_x"},
           Row{"{ tile = \"tile_q\",", "{", "fits.seqlen_q needs either size or tile"},
           Row{"\"-pad_s\"", "\"-slow\"", "prefer: no group -slow"},
           Row{"units = \"heads\"", "units = \"threads\"", "units is neither"},
           Row{"mode = [\"batch\"]", "mode = \"batch\"", "require.mode is missing or no list of strings"},
       }) {
    const absl::StatusOr<Adapter> adapter =
        parse_adapter(replaced(test::shipped_adapter(), row.from, row.to), "a.toml");
    INFO(row.to);
    REQUIRE_FALSE(adapter.ok());
    CHECK_THAT(std::string(adapter.status().message()), Contains("a.toml") && Contains(row.expected));
  }
}

TEST_CASE("a library is what its digest says") {
  test::SampleLibrary sample({test::fwd_stem(64, "fp16", "psskddv")});
  const std::string digest = sample.loaded()->digest;
  CHECK(sample.loaded()->entries.size() == 1);
  REQUIRE(runtime::write_file(sample.adapter(), {test::shipped_adapter() + "\n# changed\n"}).ok());
  CHECK(runtime::read_blob_library(sample.folder())->digest() != digest);
  CHECK(load_library(sample.folder(), digest).ok());  // known: nothing is read again
  const auto other = load_library(sample.folder(), std::string(64, '0'));
  CHECK(absl::IsFailedPrecondition(other.status()));
  CHECK_THAT(std::string(other.status().message()), Contains("changed"));
  CHECK(absl::IsNotFound(runtime::read_blob_library(sample.folder() / "no").status()));
}

}  // namespace
}  // namespace hearth::blobs
