// FileComparison: whether two sealed memory files of one size hold the same bytes, found out a piece at a time, so that
// the thread that asks serves others in between. Owns both descriptors. Not thread-safe. A file that cannot be read is
// different. Example:
//   FileComparison comparison(std::move(mine), std::move(theirs), size_bytes);
//   while (comparison.advance() == FileComparison::kUnknown) {}
#pragma once
#include <cstdint>

#include "base/unique_fd.h"

namespace hearth::daemon {

class FileComparison {
 public:
  enum Verdict { kUnknown, kEqual, kDifferent };
  // Reading and comparing a piece takes less than a millisecond.
  static constexpr std::uint64_t kPieceBytes = 1 << 20;

  FileComparison(UniqueFd first, UniqueFd second, std::uint64_t size_bytes)
      : first_(std::move(first)), second_(std::move(second)), size_bytes_(size_bytes) {}

  // Compares the next piece.
  Verdict advance();
  UniqueFd take_first() { return std::move(first_); }
  UniqueFd take_second() { return std::move(second_); }

 private:
  UniqueFd first_, second_;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
};

}  // namespace hearth::daemon
