// What a compiler's command line asks for: response files, probes, compiles, links, and what the interceptor makes of
// each. The command lines are those of aiter's and CMake's builds.
#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file.h"
#include "blobs/tools/command_line.h"
#include "blobs/tools/interceptor.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

using Words = std::vector<std::string>;
using Kind = CommandLine::Kind;

Decision decided(const Words& args) { return decide(parse_command_line(args), "/build"); }

TEST_CASE("words of a response file are split as GCC does") {
  CHECK(split_words("a  b\tc\nd") == Words{"a", "b", "c", "d"});
  CHECK(split_words("'a b' \"c d\"") == Words{"a b", "c d"});
  CHECK(split_words("a\\ b 'c\\'d' \"e\\\"f\"") == Words{"a b", "c'd", "e\"f"});
  CHECK(split_words("-DX='\"y\"' \"\" z") == Words{"-DX=\"y\"", "", "z"});
  CHECK(split_words(" \n").empty());
}

TEST_CASE("response files are expanded, also nested") {
  Scratch scratch;
  REQUIRE(runtime::write_file(scratch / "in.rsp", {"b.o 'c d.o'"}).ok());
  REQUIRE(runtime::write_file(scratch / "out.rsp", {"a.o @", scratch / "in.rsp", " e.o"}).ok());
  const auto args = expand_response_files({"-shared", "@" + (scratch / "out.rsp"), "-o", "x"});
  REQUIRE(args.ok());
  CHECK(*args == Words{"-shared", "a.o", "b.o", "c d.o", "e.o", "-o", "x"});
}

TEST_CASE("a response file that is not there stays a word, as compilers have it") {
  const auto args = expand_response_files({"@/nowhere/x.rsp", "@"});
  REQUIRE(args.ok());
  CHECK(*args == Words{"@/nowhere/x.rsp", "@"});
}

TEST_CASE("a response file that includes itself is refused by name") {
  Scratch scratch;
  const std::string file = scratch / "loop.rsp";
  REQUIRE(runtime::write_file(file, {"a @", file}).ok());
  const auto args = expand_response_files({"@" + file});
  CHECK(args.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(args.status().message()), Catch::Contains(file) && Catch::Contains("includes itself"));
}

TEST_CASE("probes go to the real compiler") {
  for (const Words& args :
       {Words{"--version"},
        {"-v"},
        {"-dumpfullversion", "-dumpversion"},
        {"-O3", "-x", "hip", "-E", "-P", "/dev/null", "-o", "/dev/null"},
        {"-mllvm", "-enable-post-misched=0", "-x", "hip", "-E", "-P", "/dev/null", "-o", "/dev/null"},
        {"-x", "hip", "-P", "-c", "-Wno-unused-command-line-argument", "-o", "/dev/null", "-"},
        {"-print-search-dirs"},
        {"-M", "/a/blob/fmha_fwd_x.cpp"},
        {"-E", "/a/blob/fmha_fwd_x.cpp"},
        {"-c", "/a/blob/fmha_fwd_x.cpp", "-o", "/dev/null"},
        {"-###", "-c", "/a/blob/fmha_fwd_x.cpp"},
        {}}) {
    CAPTURE(args);
    CHECK(parse_command_line(args).kind == Kind::kProbe);
    CHECK(decided(args) == Decision::kPass);
  }
}

TEST_CASE("blobs are told by path and name, dispatchers by name") {
  CHECK(is_blob("/jit/build/libmha_fwd/blob/fmha_fwd_d128_fp16.cpp"));
  CHECK(is_blob("/jit/blobs/fmha_bwd_dq_dk_dv_d64.cu"));
  CHECK(is_blob("/jit/blob/sub/fmha_batch_prefill_d64.hip"));
  CHECK(is_blob("/jit/blob/fmha_fwd_splitkv_combine_d64.cpp"));
  CHECK_FALSE(is_blob("/jit/src/fmha_fwd_d128_fp16.cpp"));
  CHECK_FALSE(is_blob("/jit/blob/mha_fwd.cu"));
  CHECK_FALSE(is_blob("/jit/blob/fmha_fwd_api.cpp"));
  CHECK_FALSE(is_blob("/jit/blob/fmha_fwd_d128.hpp"));
  CHECK_FALSE(is_blob("/jit/myblob/fmha_fwd_d128.cpp"));
  CHECK(is_dispatcher("/jit/blob/fmha_fwd_splitkv_api.cpp"));
  CHECK(is_dispatcher("fmha_bwd_api.cu"));
  CHECK_FALSE(is_dispatcher("/jit/fmha_fwd_api.hpp"));
  CHECK_FALSE(is_dispatcher("/jit/mha_fwd_api.cpp"));
}

TEST_CASE("what becomes of compiles and links") {
  CHECK(decided({"-O3", "-c", "../blob/fmha_fwd_x.cpp", "-o", "x.o"}) == Decision::kBlob);
  CHECK(decided({"-c", "/j/blob/fmha_fwd_api.cpp", "-o", "x.o"}) == Decision::kDispatcher);
  CHECK(decided({"-c", "/j/csrc/mha_fwd.cu", "-o", "x.o"}) == Decision::kPass);
  CHECK(decided({"a.o", "b.o", "-shared", "-o", "libmha_fwd.so"}) == Decision::kLink);
  CHECK(decided({"a.o", "-shared", "-olib/libmha_bwd.so"}) == Decision::kLink);
  CHECK(decided({"a.o", "-shared", "-o", "module_mha_fwd.so"}) == Decision::kPass);
  CHECK(decided({"a.o", "-o", "libmha_fwd.so.test"}) == Decision::kPass);
  CHECK(decided({"-c", "/j/blob/fmha_fwd_a.cpp", "/j/blob/fmha_fwd_b.cpp"}) == Decision::kMixed);
  CHECK(decided({"-shared", "/j/blob/fmha_fwd_a.cpp", "-o", "libmha_fwd.so"}) == Decision::kMixed);
}

TEST_CASE("values of options are not inputs") {
  const CommandLine line =
      parse_command_line({"-mllvm", "--lsr-drop-solution=1", "-I", "inc", "-isystem", "/sys", "-include", "pre.hpp",
                          "-D", "X", "-MMD", "-MF", "a.d", "-MT", "a.o", "-c", "a b.cpp", "-o", "out/a.o"});
  CHECK(line.kind == Kind::kCompile);
  CHECK(line.sources == Words{"a b.cpp"});
  CHECK(line.objects.empty());
  CHECK(line.output == "out/a.o");
  CHECK(line.wants_depfile);
  CHECK(line.depfile == "a.d");
  CHECK(line.depfile_targets == Words{"a.o"});
}

TEST_CASE("an output may be joined to its option") {
  CHECK(joined_output("-oa/b.o") == "a/b.o");
  CHECK(joined_output("-o").empty());
  CHECK(joined_output("-offload-arch=gfx942").empty());
  CHECK(joined_output("--output").empty());
}

TEST_CASE("paths are made absolute without the file system") {
  CHECK(absolute_path("../x/./y", "/a/b") == "/a/x/y");
  CHECK(absolute_path("/c//d/", "/a") == "/c/d");
}

}  // namespace
}  // namespace hearth::blobs
