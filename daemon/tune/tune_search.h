// tune_search: the search for one kernel's opts. It starts at the heuristic's and climbs: the candidates one change
// away are compiled, each is timed in turn with the heuristic's kernel, the fastest is where the next round begins. One
// that has to end early says where another may go on; it tries something first, so that searches come to an end.
// What is fastest in the end must show it again: at least 3 % in several more rounds. Every ratio is one to the
// heuristic's kernel, timed in between, so that a machine whose speed changes does not decide.
//
// Knows no processes and no clock: a CandidateRunner does the work. Example:
//   SearchResult found = search(kernel, bench, {.progress = on_progress});
//   if (found.improved) keep(found.best.opts());
#pragma once
#include <absl/status/statusor.h>

#include <functional>
#include <span>
#include <vector>

#include "hearth/v1/tuning.pb.h"

namespace hearth::daemon {

class CandidateRunner {
 public:
  virtual ~CandidateRunner() = default;
  // One answer a spec, in order; a candidate that cannot be compiled, or kills its compiler, is an error of its own.
  virtual std::vector<absl::StatusOr<v1::Candidate>> compile(std::span<const v1::CandidateSpec> specs) = 0;
  virtual absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec& spec) = 0;
  virtual absl::StatusOr<v1::Timing> time(const v1::TimeSpec& spec) = 0;
  // True: begin no further wave of candidates.
  virtual bool is_over() const = 0;
};

struct SearchOptions {
  int most_rounds = 6;       // of climbing
  int most_candidates = 48;  // a round
  std::size_t wave = 4;      // candidates compiled at once
  std::uint64_t threads = 1;
  v1::SearchPosition from = {};  // where an earlier search ended
  v1::OptList best = {};         // what it found; no opts: nothing
  std::function<void(std::uint32_t candidates, double speedup)> progress = {};
};

struct SearchResult {
  absl::Status status;  // not OK: the heuristic's kernel itself failed
  bool improved = false;
  bool finished = false;  // else `rest` says where to go on
  v1::SearchPosition rest;
  v1::Candidate heuristic, best;
  double heuristic_ns = 0, best_ns = 0;  // when they were last compared
  std::uint32_t candidates = 0;          // tried, without the heuristic's
  std::uint32_t failed = 0;              // of these: not compiled, crashed, or another result
  std::string detail;                    // the last failure
};

SearchResult search(const v1::FlatKernel& kernel, CandidateRunner& bench, const SearchOptions& options);

}  // namespace hearth::daemon
