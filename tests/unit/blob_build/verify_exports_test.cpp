// The independent check counts a real object's undefined symbols; broken objects are told, never misread.
#include "compiler/blobs/verify_exports.h"

#include <catch2/catch.hpp>

#include "compiler/blobs/elf_symbols.h"
#include "runtime/file.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

constexpr char kDispatcher[] = R"(
template <class T> float fmha_fwd_(int);
template <class T> float helper(int);
struct A; struct B;
float other(int);
int defined(int x) { return x; }
float fmha_fwd(int x) { return fmha_fwd_<A>(x) + fmha_fwd_<B>(x) + fmha_fwd_<A>(x) + helper<A>(x) + other(x); }
)";

// Every blob exports these, and the family is the first `blobs`'.
Manifest manifest_of(int blobs, int other_family = 0, std::vector<std::string> exports = {"_Z9fmha_fwd_I"}) {
  Manifest manifest;
  for (int i = 0; i < blobs + other_family; ++i)
    manifest.blobs.push_back({.stem = "b" + std::to_string(i),
                              .family = i < blobs ? "fmha_fwd" : "fmha_bwd",
                              .source = "",
                              .flags = {},
                              .archs = {},
                              .exports = exports});
  return manifest;
}

std::string compiled(const Scratch& scratch) {
  REQUIRE(runtime::write_file(scratch / "d.cpp", {kDispatcher}).ok());
  REQUIRE(std::system(("c++ -O2 -c '" + (scratch / "d.cpp") + "' -o '" + (scratch / "d.o") + "'").c_str()) == 0);
  return scratch / "d.o";
}

TEST_CASE("undefined symbols are read from an object, each once") {
  Scratch scratch;
  const auto symbols = undefined_symbols(compiled(scratch));
  REQUIRE(symbols.ok());
  CHECK(*symbols ==
        std::vector<std::string>{"_Z5otheri", "_Z6helperI1AEfi", "_Z9fmha_fwd_I1AEfi", "_Z9fmha_fwd_I1BEfi"});
}

TEST_CASE("as many undefined symbols as exports is right; fewer or more is told") {
  Scratch scratch;
  const std::string object = compiled(scratch);
  const auto right = verify_exports(object, "d.cpp", manifest_of(2, 5), "fmha_fwd");
  REQUIRE(right.ok());
  CHECK(*right == 2);
  CHECK(count_exports(object, manifest_of(2), "fmha_fwd").value() == 2);
  for (const int blobs : {1, 3}) {
    const auto wrong = verify_exports(object, "d.cpp", manifest_of(blobs), "fmha_fwd");
    CHECK(wrong.status().code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(wrong.status().message()), Catch::Contains("d.cpp: calls 2 functions _Z9fmha_fwd_I") &&
                                                          Catch::Contains("but " + std::to_string(blobs) + " blobs"));
  }
}

TEST_CASE("an export that is never called is right when each blob is called by another") {
  Scratch scratch;
  const std::string object = compiled(scratch);
  CHECK(
      verify_exports(object, "d.cpp", manifest_of(2, 0, {"_Z9fmha_fwd_I", "_Z12fmha_launch_I"}), "fmha_fwd").value() ==
      2);
  Manifest unreached = manifest_of(3);
  unreached.blobs[2].exports = {"_Z12fmha_launch_I"};
  CHECK_THAT(std::string(verify_exports(object, "d.cpp", unreached, "fmha_fwd").status().message()),
             Catch::Contains("calls 0 functions _Z12fmha_launch_I") && Catch::Contains("1 blobs"));
}

TEST_CASE("a call of what no blob defines is told by its symbol") {
  Scratch scratch;
  const std::string object = compiled(scratch);
  const Manifest other = manifest_of(2, 0, {"_Z8fmha_fwdI"});
  CHECK_THAT(std::string(verify_exports(object, "d.cpp", other, "fmha_fwd").status().message()),
             Catch::Contains("d.cpp: calls _Z9fmha_fwd_I1AEfi, which no blob defines"));
  CHECK(count_exports(object, other, "fmha_fwd").value() == 2);
}

TEST_CASE("an object that is cut anywhere is told or read as far as it is whole, never crashes") {
  Scratch scratch;
  const std::string bytes = runtime::read_file(compiled(scratch)).value();
  std::size_t told = 0;
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    REQUIRE(runtime::write_file(scratch / "cut.o", {bytes.substr(0, size)}).ok());
    const auto symbols = undefined_symbols(scratch / "cut.o");
    told += symbols.status().code() == absl::StatusCode::kDataLoss;
  }
  CHECK(told == (bytes.size() + 6) / 7);               // the section table is at the end, so that every cut shows
  for (std::size_t at = 0; at < bytes.size(); ++at) {  // a changed byte: any answer, no crash
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    REQUIRE(runtime::write_file(scratch / "changed.o", {changed}).ok());
    const auto symbols = undefined_symbols(scratch / "changed.o");
    CHECK((symbols.ok() || symbols.status().code() == absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace hearth::blobs
