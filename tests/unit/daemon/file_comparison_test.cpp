#include "daemon/weights/file_comparison.h"

#include <fcntl.h>

#include "tests/unit/daemon/weight_fixture.h"

namespace hearth::daemon {
namespace {

constexpr std::uint64_t kPiece = FileComparison::kPieceBytes;

UniqueFd file_of(const std::string& bytes) {
  absl::StatusOr<UniqueFd> file = runtime::create_memory_file("test", bytes.size());
  REQUIRE(file.ok());
  REQUIRE(::pwrite(file->get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return *std::move(file);
}

// How many pieces it took, and the verdict.
std::pair<int, FileComparison::Verdict> compared(const std::string& first, const std::string& second,
                                                 std::uint64_t size) {
  FileComparison comparison(file_of(first), file_of(second), size);
  for (int pieces = 1;; ++pieces) {
    const FileComparison::Verdict verdict = comparison.advance();
    if (verdict != FileComparison::kUnknown) return {pieces, verdict};
  }
}

}  // namespace

TEST_CASE("files are compared to their last byte, a piece at a time") {
  const std::string bytes(2 * kPiece + 5, 'w');
  CHECK(compared(bytes, bytes, bytes.size()) == std::pair(3, FileComparison::kEqual));
  for (const std::uint64_t at : {std::uint64_t{0}, kPiece - 1, kPiece, 2 * kPiece, 2 * kPiece + 4}) {
    std::string other = bytes;
    other[at] = 'x';
    CHECK(compared(bytes, other, bytes.size()) ==
          std::pair(static_cast<int>(at / kPiece) + 1, FileComparison::kDifferent));
  }
  CHECK(compared("", "", 0).second == FileComparison::kEqual);
}

TEST_CASE("a file that is shorter than was said, or that cannot be read, is different") {
  CHECK(compared("www", "ww", 3).second == FileComparison::kDifferent);
  FileComparison comparison(file_of("w"), UniqueFd(::open("/", O_PATH | O_CLOEXEC)), 1);
  CHECK(comparison.advance() == FileComparison::kDifferent);
}

}  // namespace hearth::daemon
