// Compilers that fail, hang, crash, eat memory, write too much or leave children: each is an error of its own kind.
#include "blobs/tools/compile_failure.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>

#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;
using namespace std::chrono_literals;

namespace {

absl::Status fails(const std::string& body, BlobCompileOptions options = {}) {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.stub("stub-c++", body));
  return place.compile(place.spec(), options).status();
}

}  // namespace

TEST_CASE("A compile error comes with the compiler's last lines") {
  const Place place;
  place.write("root/x.cpp", "#error the seventh seal\n");
  const absl::Status real = place.compile(place.spec()).status();
  CHECK(absl::IsFailedPrecondition(real));
  says(real, "the seventh seal");
  says(real, "x: ");
  const absl::Status stub = fails("echo 'x.cpp:1:1: error: wrong' >&2; exit 1");
  CHECK(absl::IsFailedPrecondition(stub));
  says(stub, "failed with exit code 1:\nx.cpp:1:1: error: wrong");
}

TEST_CASE("A compiler that hangs is stopped") {
  const absl::Status status = fails("echo still here >&2; sleep 600", {.folder = {}, .wall_limit = 700ms});
  CHECK(absl::IsDeadlineExceeded(status));
  says(status, "was stopped after 0.7 s:\nstill here");
}

TEST_CASE("Memory: killed from outside, and the limit of the address space") {
  CHECK(absl::IsResourceExhausted(fails("kill -KILL $$")));
  CHECK(absl::IsResourceExhausted(
      fails("echo 'c++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1")));
  CHECK(absl::IsResourceExhausted(fails("echo 'LLVM ERROR: out of memory' >&2; kill -ABRT $$")));
  // A real compiler under a limit it cannot live with.
  const Place place;
  place.write("root/x.cpp", "#include <regex>\n#include <map>\n#include <iostream>\n" + std::string(kSource));
  const absl::Status real = place.compile(place.spec(), {.folder = {}, .memory_bytes = 96 << 20}).status();
  CHECK(absl::IsResourceExhausted(real));
  says(real, "limit 96 MiB");
}

TEST_CASE("A compiler that eats memory itself meets the limit") {
  const absl::Status status =
      fails("exec python3 -c 'x = bytearray(1 << 31)' || exit 1", {.folder = {}, .memory_bytes = 512 << 20});
  CHECK_FALSE(status.ok());
  says(status, "MemoryError");
}

TEST_CASE("A crash is told apart, with the signal") {
  const absl::Status crash = fails("kill -SEGV $$");
  CHECK(absl::IsInternal(crash));
  says(crash, "Segmentation fault");
  CHECK(absl::IsInternal(fails("exit 134")));
  CHECK(absl::IsInternal(fails("echo 'PLEASE submit a bug report to' >&2; exit 70")));
}

TEST_CASE("More output than allowed") {
  const absl::Status status =
      fails("exec dd if=/dev/zero of=$OUT bs=1M count=2048", {.folder = {}, .output_bytes = 4 << 20});
  CHECK(absl::IsResourceExhausted(status));
  says(status, "limit of 4 MiB");
}

TEST_CASE("Success without an object, and with one that is none") {
  const absl::Status nothing = fails("exit 0");
  CHECK(absl::IsDataLoss(nothing));
  says(nothing, "without an object file");
  const absl::Status text = fails("echo text > $OUT");
  CHECK(absl::IsDataLoss(text));
  says(text, "not an ELF file");
  const absl::Status program = fails("cp /bin/true $OUT");
  CHECK(absl::IsDataLoss(program));
}

TEST_CASE("A compiler that leaves children behind does not hold the result up") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.stub("stub-c++", "sleep 600 &\nexec c++ \"$@\""));
  CHECK(place.compile(place.spec()).ok());
}

TEST_CASE("Variables that change what compilers make do not reach them") {
  Place place;
  place.write("evil/k.h", "#define K 100\n");
  std::filesystem::remove(place.path("root/include/k.h"));
  place.set("CPLUS_INCLUDE_PATH", place.path("evil"));
  place.set("CPATH", place.path("evil"));
  CHECK(absl::IsFailedPrecondition(place.compile(place.spec()).status()));
}

TEST_CASE("The last lines, with the first error when it would be cut off") {
  CHECK(last_lines("a\nb\n", 100) == "a\nb");
  std::string text = "x.cpp:1: error: first\n";
  for (int i = 0; i < 1000; ++i) text += "note " + std::to_string(i) + "\n";
  const std::string cut = last_lines(text, 200);
  CHECK(cut.starts_with("x.cpp:1: error: first\n…\n"));
  CHECK(cut.ends_with("note 999"));
  CHECK(cut.size() < 300);
}
