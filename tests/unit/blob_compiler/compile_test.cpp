// Real compiles of host code: the object works, says what it was made of, and is the same bytes wherever it was made.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file_digest/file_digest.h"
#include "blobs/tools/dependencies.h"
#include "tests/support/skip.h"
#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;

namespace {

std::vector<std::string> paths(const CompiledBlob& blob) {
  std::vector<std::string> list;
  for (const Dependency& file : blob.dependencies) list.push_back(file.path);
  return list;
}

bool has(const std::vector<std::string>& list, const std::string& path) {
  return std::find(list.begin(), list.end(), path) != list.end();
}

}  // namespace

TEST_CASE("A blob is compiled, loads and computes; its dependencies are the source and every header") {
  const Place place;
  const auto blob = place.compile(place.spec());
  REQUIRE(blob.ok());
  CHECK(call(blob->path, 2) == 3);
  CHECK(has(paths(*blob), "{root}/x.cpp"));
  CHECK(has(paths(*blob), "{root}/include/k.h"));
  CHECK_FALSE(blob->changed_meanwhile);
  for (const Dependency& file : blob->dependencies) {
    INFO(file.path);
    CHECK(hearth::to_hex(hearth::files::file_digest(path_of(file, place.spec()))->digest) == file.sha256_hex);
  }
  // Only the object stays behind.
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place.path("work"))) files += entry.exists();
  CHECK(files == 1);
}

TEST_CASE("Glue is compiled after the source, in its translation unit") {
  const Place place;
  BlobSpec spec = place.spec();
  spec.glue = "extern \"C\" float hearth_glue(float x) { return hearth_f_<float>(x) * 10 * K; }\n";
  spec.exports = {kExport, "hearth_glue"};
  const auto blob = place.compile(spec);
  REQUIRE(blob.ok());
  CHECK(paths(*blob) == paths(*place.compile(place.spec())));
  spec.glue = "this is no C++\n";
  const auto bad = place.compile(spec);
  CHECK(absl::IsFailedPrecondition(bad.status()));
  says(bad.status(), "x.glue:1");  // its own name and lines in the message
}

TEST_CASE("Two roots and two work folders give the same bytes, with debug information and file names in them") {
  const Place a, b;
  for (const Place* place : {&a, &b}) {
    place->write("root/x.cpp", std::string(kSource) +
                                   "#include <cassert>\nnamespace { int only_here(int x) { assert(x); "
                                   "return x; } }\nconst char* hearth_where() { return __FILE__; }\n"
                                   "int hearth_g(int x) { return only_here(x); }\n");
  }
  for (const std::string compiler : {"c++", "clang++-19"}) {
    Place environment;
    environment.set("HEARTH_BLOB_CXX", compiler);
    if (!find_toolchain(kCxxToolchain).ok()) {
      hearth::test::skip_part("there is no " + compiler);
      continue;
    }
    for (const std::string glue : {"", "int hearth_glued = sizeof(__FILE__);"}) {
      std::vector<std::string> bytes;
      for (const Place* place : {&a, &b}) {
        BlobSpec spec = place->spec();
        spec.flags.emplace_back("-g");
        spec.glue = glue;
        const auto blob = place->compile(spec);
        REQUIRE(blob.ok());
        bytes.push_back(place->read("work/x.so"));
        CHECK(bytes.back().find(place->path("")) == std::string::npos);
      }
      INFO(compiler << (glue.empty() ? "" : " with glue"));
      CHECK(bytes[0] == bytes[1]);
    }
  }
}

TEST_CASE("A changed header, a removed one, a touched one") {
  const Place place;
  const BlobSpec spec = place.spec();
  const auto blob = place.compile(spec);
  REQUIRE(blob.ok());
  CHECK(dependencies_unchanged(spec, blob->dependencies));
  const std::string header = place.path("root/include/k.h");
  std::filesystem::last_write_time(header, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(9));
  CHECK(dependencies_unchanged(spec, blob->dependencies));  // the same bytes
  place.write("root/include/k.h", "#define K 2\n");
  CHECK_FALSE(dependencies_unchanged(spec, blob->dependencies));
  place.write("root/include/k.h", "#define K 1\n");
  CHECK(dependencies_unchanged(spec, blob->dependencies));
  std::filesystem::remove(header);
  CHECK_FALSE(dependencies_unchanged(spec, blob->dependencies));
  CHECK_FALSE(dependencies_unchanged(spec, {}));
}

TEST_CASE("The root may move") {
  const Place place;
  BlobSpec spec = place.spec();
  const auto blob = place.compile(spec);
  REQUIRE(blob.ok());
  std::filesystem::rename(place.root(), place.path("moved"));
  CHECK_FALSE(dependencies_unchanged(spec, blob->dependencies));
  spec.root = place.path("moved");
  CHECK(dependencies_unchanged(spec, blob->dependencies));
}

TEST_CASE("A file that would now be found first makes a result stale") {
  const Place place;
  place.folder("root/first");
  place.folder("root/last");
  place.write("root/include/sub/d.h", "");
  place.write("root/x.cpp", std::string("#include <cstddef>\n#include <sub/d.h>\n") + kSource);
  BlobSpec spec = place.spec();
  spec.flags = {"-I{root}/first", "-I{root}/include", "-I{root}/last"};
  const auto blob = place.compile(spec);
  REQUIRE(blob.ok());
  REQUIRE(dependencies_unchanged(spec, blob->dependencies));
  const auto stale_with = [&](const std::string& name) {
    place.write(name, "#define K 5\n");
    const bool stale = !dependencies_unchanged(spec, blob->dependencies);
    std::filesystem::remove(place.path(name));
    return stale;
  };
  CHECK(stale_with("root/first/k.h"));
  CHECK(stale_with("root/first/sub/d.h"));
  CHECK(stale_with("root/k.h"));            // beside the source, whose #include "k.h" looks there first
  CHECK(stale_with("root/first/cstddef"));  // a system header
  CHECK(stale_with("root/last/k.h"));       // a compile too many: it is looked into, if only later
  CHECK_FALSE(stale_with("root/unseen/k.h"));
  CHECK_FALSE(stale_with("root/first/other.h"));
  CHECK(dependencies_unchanged(spec, blob->dependencies));
}

TEST_CASE("A file that lay earlier and was not used does not make a result stale for ever") {
  const Place place;
  place.write("root/first/k.h", "#error not this one\n");
  place.write("root/include/outer.h", "#include \"k.h\"\n");
  place.write("root/x.cpp", "#include <outer.h>\nfloat hearth_f_(float x) { return x + K; }\n");
  BlobSpec spec = place.spec();
  spec.flags = {"-I{root}/first", "-I{root}/include"};
  spec.exports = {"_Z9hearth_f_f"};
  const auto blob = place.compile(spec);
  REQUIRE(blob.ok());
  CHECK(dependencies_unchanged(spec, blob->dependencies));
}

TEST_CASE("A header that changes while the compiler runs is noticed") {
  Place place;
  place.set("HEARTH_BLOB_CXX",
            place.stub("slow-c++", "c++ \"$@\" || exit 1\n[ -e " + place.path("root/stay") +
                                       " ] || echo '#define K 7' > " + place.path("root/include/k.h")));
  const auto blob = place.compile(place.spec());
  REQUIRE(blob.ok());
  CHECK(blob->changed_meanwhile);
  place.write("root/stay", "");
  const auto again = place.compile(place.spec());
  REQUIRE(again.ok());
  CHECK_FALSE(again->changed_meanwhile);
}

TEST_CASE("A header that would be found first and comes while the compiler runs is noticed") {
  Place place;
  place.folder("root/first");
  BlobSpec spec = place.spec();
  spec.flags.insert(spec.flags.begin(), "-I{root}/first");
  place.set("HEARTH_BLOB_CXX",
            place.stub("late-c++", "c++ \"$@\" || exit 1\necho '#define K 7' > " + place.path("root/first/k.h")));
  const auto blob = place.compile(spec);
  REQUIRE(blob.ok());
  CHECK(call(blob->path, 2) == 3);
  CHECK(blob->changed_meanwhile);
}

TEST_CASE("Odd names: blanks and dollars in folders and headers") {
  const Place place;
  place.write("root/inc lude/k $h.h", "#define K 3\n");
  place.write("root/x.cpp", "#include \"k $h.h\"\nfloat hearth_f_(float x) { return x + K; }\n");
  BlobSpec spec = place.spec();
  spec.flags = {"-I{root}/inc lude"};
  spec.exports = {"_Z9hearth_f_f"};
  const auto blob = place.compile(spec);
  REQUIRE(blob.ok());
  CHECK(has(paths(*blob), "{root}/inc lude/k $h.h"));
}

TEST_CASE("What is missing, hidden or twice among the exports is an error that names it") {
  const Place place;
  BlobSpec spec = place.spec();
  spec.exports = {"_Z11fmha_fwd_x_I"};
  const auto missing = place.compile(spec);
  CHECK(absl::IsDataLoss(missing.status()));
  says(missing.status(), "x: export _Z11fmha_fwd_x_I is missing; exported functions: _Z9hearth_f_IfET_S0_");
  place.write("root/x.cpp", "float f_a(float x) { return x; }\nfloat f_a(double x) { return x; }\n");
  spec.exports = {"_Z3f_a"};
  const auto twice = place.compile(spec);
  CHECK(absl::IsDataLoss(twice.status()));
  says(twice.status(), "x: export _Z3f_a is ambiguous: 2 functions begin with it");
  place.write("root/x.cpp", "template <class T> T f_(T x) { return x; }\ntemplate float f_<float>(float);\n");
  spec.exports = {"_Z2f_I"};
  const auto weak = place.compile(spec);
  CHECK(absl::IsDataLoss(weak.status()));
  says(weak.status(), "_Z2f_IfET_S0_ is defined, but weak, local or hidden");
}

TEST_CASE("Hidden visibility in the flags does not hide the export") {
  const Place place;
  BlobSpec spec = place.spec();
  spec.flags.emplace_back("-fvisibility=hidden");
  CHECK(place.compile(spec).ok());
}

TEST_CASE("The command: the blob's own level of optimisation, else -O3; defaults that reproduce") {
  const Place place;
  Toolchain toolchain{kHipToolchain, "/c", {"-x", "hip"}, {"-lamdhip64"}, "v", "d"};
  BlobSpec spec = place.spec();
  spec.archs = {"gfx942", "gfx90a:xnack-"};
  const auto command = compile_command(spec, toolchain, "/t/x.so", "/t/x.d");
  REQUIRE(command.ok());
  CHECK(command->front() == "/c");
  for (const char* word : {"-O1", "--offload-arch=gfx942", "--offload-arch=gfx90a:xnack-", "-fuse-cuid=none", "-shared",
                           "-fPIC", "-ffile-prefix-map=/t=.", "/t/x.d"})
    CHECK(has(*command, word));
  CHECK_FALSE(has(*command, "-O3"));
  CHECK(has(*command, place.root() + "/x.cpp"));
  spec.flags = {};
  CHECK(has(*compile_command(spec, toolchain, "/t/x.so", "/t/x.d"), "-O3"));
}

TEST_CASE("A spec that makes no sense") {
  const Place place;
  const auto refused = [&](auto change, const std::string& text) {
    BlobSpec spec = place.spec();
    change(spec);
    const auto blob = place.compile(spec);
    REQUIRE_FALSE(blob.ok());
    CHECK(absl::IsInvalidArgument(blob.status()));
    says(blob.status(), text);
  };
  refused([](BlobSpec& s) { s.source = "gone.cpp"; }, "root/gone.cpp is missing");
  refused([](BlobSpec& s) { s.source = "../../etc/passwd"; }, "not below the root");
  refused([](BlobSpec& s) { s.source = "a/../../x.cpp"; }, "not below the root");
  refused([](BlobSpec& s) { s.source = "/etc/passwd"; }, "not below the root");
  refused([](BlobSpec& s) { s.source = ""; }, "not below the root");
  refused([](BlobSpec& s) { s.root = "relative"; }, "not an absolute path");
  refused([](BlobSpec& s) { s.stem = "a/b"; }, "cannot be the name of a file");
  refused([](BlobSpec& s) { s.stem = ""; }, "cannot be the name of a file");
  refused([](BlobSpec& s) { s.stem = std::string(300, 'x'); }, "cannot be the name of a file");
  refused([](BlobSpec& s) { s.flags.emplace_back("-fplugin=x.so"); }, "x: flag \"-fplugin=x.so\" is refused");
}
