#include "blobs/tools/aiter_build.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

TEST_CASE("A generator's traceback is found among what compile.py prints, others are not") {
  const std::string before = "[aiter] start\n", after = "[aiter] finish build\n";
  const std::string generator =
      "Traceback (most recent call last):\n"
      "  File \"/a/3rdparty/composable_kernel/example/ck_tile/01_fmha/generate.py\", line 5, in <module>\n"
      "    handler = handlers[api]\n"
      "  File \"/usr/lib/python3/collections.py\", line 7, in get\n"
      "KeyError: 'batch_prefill'\n";
  const std::string codegen =
      "Traceback (most recent call last):\n"
      "  File \"/a/hsa/codegen.py\", line 9, in <module>\n"
      "    import numpy\n"
      "ModuleNotFoundError: No module named 'numpy'\n";
  const std::string other =
      "Traceback (most recent call last):\n"
      "  File \"/a/aiter/jit/core.py\", line 2, in <module>\n"
      "ImportError: no torch\n";
  CHECK(failed_generator(before + generator + after) == "generate.py: KeyError: 'batch_prefill'");
  CHECK(failed_generator(other + codegen) == "codegen.py: ModuleNotFoundError: No module named 'numpy'");
  CHECK(failed_generator(before + other + after).empty());
  CHECK(failed_generator("").empty());
  CHECK(failed_generator(generator.substr(0, generator.find("    handler"))) == "generate.py: a traceback, cut short");
  CHECK(failed_generator(before + "generate: error: no such API: 'x'\n") == "generate: error: no such API: 'x'");
}

TEST_CASE("What a killed build moved out of a checkout comes back at the end of the next one") {
  const Scratch scratch;
  const std::string folder = scratch.path(), aside = scratch / "libmha_fwd.so.of_checkout";
  REQUIRE(runtime::write_file(aside, {"the user's own"}).ok());
  REQUIRE(runtime::write_file(scratch / "libmha_fwd.so", {"of the killed build"}).ok());
  {
    CheckoutLibraries libraries;
    REQUIRE(libraries.move(folder, {"libmha_fwd.so", "libmha_bwd.so"}, folder).ok());
    CHECK_FALSE(std::filesystem::exists(scratch / "libmha_fwd.so"));
    REQUIRE(runtime::write_file(scratch / "libmha_bwd.so", {"of this build"}).ok());
  }
  CHECK(runtime::read_file(scratch / "libmha_fwd.so").value() == "the user's own");
  CHECK_FALSE(std::filesystem::exists(scratch / "libmha_bwd.so"));
  CHECK_FALSE(std::filesystem::exists(aside));
}

}  // namespace
}  // namespace hearth::blobs
