// LaunchRows: what a GPU's program submits, laid out once: all launches of a run in their order, those of a loop's steps
// one after the other, which of them wait, and where in one block of memory each has its row of words (base/kernel_abi.h).
// What was recorded of them never changes; write() gives the rows new addresses, values and counts. Used by one thread at
// a time; the Rows outlive it.
//
//   HEARTH_ASSIGN_OR_RETURN(LaunchRows launches, LaunchRows::of(rows));
//   for (std::size_t i = 0; i < launches.size(); ++i) record(launches.step(i).kernel, launches.groups(i, kMaxGroups));
//   launches.write(words);
#pragma once
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/profile.h"
#include "runtime/hal/rows.h"

namespace hearth::runtime {

class LaunchRows {
 public:
  // RESOURCE_EXHAUSTED where the plan's loops make more launches than are recorded.
  static absl::StatusOr<LaunchRows> of(Rows& rows);

  std::size_t size() const { return steps_.size(); }
  const Rows::Step& step(std::size_t launch) const { return rows_->steps[steps_[launch]]; }
  // For all launches before it.
  bool waits(std::size_t launch) const { return waits_[launch]; }
  // Words before its row, and those of all.
  std::size_t first_word(std::size_t launch) const { return first_words_[launch]; }
  std::size_t num_words() const { return num_words_; }
  // Workgroups for all units at the variables' upper bounds; at most `most`, which take their units in turns.
  std::int64_t groups(std::size_t launch, std::int64_t most) const;

  // Into memory of num_words(). Of launches that do not run now, the units are 0.
  void write(std::uint64_t* words);
  // `ticks`: one before the first launch, and one behind each.
  void add_times(const std::vector<std::uint64_t>& ticks, double tick_ns, Profile& profile);

 private:
  explicit LaunchRows(Rows& rows) : rows_(&rows) {}

  Rows* rows_;
  std::vector<std::uint32_t> steps_;
  std::vector<bool> waits_;
  std::vector<std::size_t> first_words_;
  std::size_t num_words_ = 0;
};

}  // namespace hearth::runtime
