// The independent check compares a real object's undefined symbols with blobs' functions, one by one; broken objects
// are told, never misread.
#include "blobs/tools/verify_exports.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "blobs/tools/elf_symbols.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

using Catch::Contains;

constexpr char kHeader[] =
    "struct A; struct B; struct C;\n"
    "template <class T> struct fmha_fwd_traits_;\n"
    "template <class T> float fmha_fwd_(int);\n"
    "template <class T> int fmha_fwd_name_();\n"
    "template <class T> float helper(int);\nfloat other(int);\n";
constexpr char kDispatcher[] =
    "#include \"fmha.h\"\n"
    "int defined(int x) { return x; }\n"
    "float fmha_fwd(int x) {\n"
    "  using a_ = fmha_fwd_traits_<A>; using b_ = fmha_fwd_traits_<B>;\n"
    "  return fmha_fwd_<a_>(x) + fmha_fwd_<b_>(x) + fmha_fwd_<a_>(x) + helper<A>(x) + other(x);\n}\n";

BlobSource blob(const std::string& type) {
  return {"fmha_fwd_" + type, "#include \"fmha.h\"\nusing trait_0 = fmha_fwd_traits_<" + type +
                                  ">;\ntemplate <> float fmha_fwd_<trait_0>(int x) { return 1; }\n"
                                  "template <> int fmha_fwd_name_<trait_0>() { return 1; }\n"};
}

std::string source_of(const std::string& stem) { return "/blobs/" + stem + ".cpp"; }

// A dispatcher that calls the blobs of A and B, though not by their second function, with blobs for A, B and C.
struct Rewritten {
  Scratch scratch;
  RewrittenDispatcher dispatcher;

  Rewritten() {
    const auto rewritten =
        rewrite_dispatcher({.path = "d.cpp", .source = kDispatcher, .blobs = {blob("A"), blob("B"), blob("C")}});
    REQUIRE(rewritten.ok());
    dispatcher = *rewritten;
    REQUIRE(runtime::write_file(scratch / "fmha.h", {kHeader}).ok());
  }

  std::string compiled(const std::string& source) const {
    REQUIRE(runtime::write_file(scratch / "d.cpp", {source}).ok());
    const std::string command = "c++ -std=c++17 -fPIC -c '" + (scratch / "d.cpp") + "' -o '" + (scratch / "d.o") + "'";
    REQUIRE(std::system(command.c_str()) == 0);
    return scratch / "d.o";
  }
  absl::StatusOr<int> verify() const {
    return verify_exports(compiled(dispatcher.names_source), "d.cpp", dispatcher, source_of);
  }
  std::string error() const {
    const auto wrong = verify();
    CHECK(absl::IsFailedPrecondition(wrong.status()));
    return std::string(wrong.status().message());
  }
};

TEST_CASE("undefined symbols are read from an object, each once") {
  const Rewritten rewritten;
  const auto symbols = undefined_symbols(rewritten.compiled(kDispatcher));
  REQUIRE(symbols.ok());
  CHECK(*symbols == std::vector<std::string>{"_Z5otheri", "_Z6helperI1AEfi", "_Z9fmha_fwd_I16fmha_fwd_traits_I1AEEfi",
                                             "_Z9fmha_fwd_I16fmha_fwd_traits_I1BEEfi"});
}

TEST_CASE("blobs that no dispatcher calls, and functions of theirs that none calls, are no fault") {
  const Rewritten rewritten;
  CHECK(rewritten.dispatcher.stems == std::set<std::string>{"fmha_fwd_A", "fmha_fwd_B"});
  CHECK(rewritten.dispatcher.names.size() == 6);
  const auto verified = rewritten.verify();
  INFO(verified.status());
  REQUIRE(verified.ok());
  CHECK(*verified == 2);
  CHECK(count_blob_calls(rewritten.scratch / "d.o", rewritten.dispatcher).value() == 6);  // of the table as well
}

TEST_CASE("a call of what no blob defines is told by its function, its symbol and the dispatcher") {
  Rewritten rewritten;
  rewritten.dispatcher.names_source += "float more(int x) { return fmha_fwd_<fmha_fwd_traits_<int>>(x); }\n";
  CHECK_THAT(
      rewritten.error(),
      Contains("d.cpp: calls float fmha_fwd_<fmha_fwd_traits_<int> >(int) (_Z9fmha_fwd_I16fmha_fwd_traits_IiEEfi), "
               "which none of its 2 blobs defines") &&
          Contains("remove the build's temporary folder") && Contains("--no-verify"));
}

TEST_CASE("a call that was not found when the dispatcher was rewritten is told with the blob it is of") {
  Rewritten rewritten;
  rewritten.dispatcher.names_source += "float more(int x) { return fmha_fwd_<fmha_fwd_traits_<C>>(x); }\n";
  CHECK_THAT(rewritten.error(), Contains("fmha_fwd_<fmha_fwd_traits_<C> >(int)") &&
                                    Contains("of /blobs/fmha_fwd_C.cpp, which was not found when it was rewritten"));
}

TEST_CASE("a blob that the rewritten dispatcher calls and the original does not is told") {
  Rewritten rewritten;
  rewritten.dispatcher.stems.insert("fmha_fwd_C");
  CHECK_THAT(rewritten.error(),
             Contains("d.cpp: was rewritten to call /blobs/fmha_fwd_C.cpp, none of whose functions"));
}

TEST_CASE("two blobs that define one function are told, both by their files") {
  Rewritten rewritten;
  std::string& text = rewritten.dispatcher.names_source;
  const std::string entry = "&::fmha_fwd_<fmha_fwd_traits_<B>>";
  REQUIRE(text.find(entry) != std::string::npos);
  text.replace(text.find(entry), entry.size(), "&::fmha_fwd_<fmha_fwd_traits_<A>>");
  CHECK_THAT(rewritten.error(), Contains("is defined by two blobs, /blobs/fmha_fwd_A.cpp and /blobs/fmha_fwd_B.cpp"));
}

TEST_CASE("what a rewritten dispatcher still calls by its symbol is counted") {
  const Rewritten rewritten;
  CHECK(count_blob_calls(rewritten.compiled(kDispatcher), rewritten.dispatcher).value() == 2);
  CHECK(count_blob_calls(rewritten.compiled("int f() { return 1; }"), rewritten.dispatcher).value() == 0);
}

TEST_CASE("an object that registers kernels is told from one of host code alone") {
  const Rewritten rewritten;
  CHECK_FALSE(has_kernels(rewritten.compiled("void f() {}")).value());
  CHECK(has_kernels(
            rewritten.compiled("template <class T> void __device_stub__k(T) {} template void __device_stub__k(int);"))
            .value());
}

TEST_CASE("an object that is cut or changed anywhere is told or read as far as it is whole, never crashes") {
  const Rewritten rewritten;
  const Scratch& scratch = rewritten.scratch;
  const std::string bytes = runtime::read_file(rewritten.compiled(rewritten.dispatcher.names_source)).value();
  std::size_t told = 0;
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    REQUIRE(runtime::write_file(scratch / "cut.o", {bytes.substr(0, size)}).ok());
    told += absl::IsDataLoss(undefined_symbols(scratch / "cut.o").status());
    CHECK(absl::IsDataLoss(references(scratch / "cut.o", "hearth_names").status()));
  }
  CHECK(told == (bytes.size() + 6) / 7);               // the section table is at the end, so that every cut shows
  for (std::size_t at = 0; at < bytes.size(); ++at) {  // a changed byte: any answer, no crash
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    REQUIRE(runtime::write_file(scratch / "changed.o", {changed}).ok());
    const auto symbols = undefined_symbols(scratch / "changed.o");
    CHECK((symbols.ok() || absl::IsDataLoss(symbols.status())));
    const auto verified = verify_exports(scratch / "changed.o", "d.cpp", rewritten.dispatcher, source_of);
    CHECK((verified.ok() || absl::IsDataLoss(verified.status()) || absl::IsFailedPrecondition(verified.status())));
  }
}

}  // namespace
}  // namespace hearth::blobs
