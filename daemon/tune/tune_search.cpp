#include "daemon/tune/tune_search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "base/sha256.h"

namespace hearth::daemon {
namespace {

constexpr double kWorthKeeping = 1.03;   // of the heuristic's time over the winner's
constexpr double kWorthClimbing = 1.01;  // of one round's best over the last one's
constexpr double kGiveUp = 1.5;          // times the best, after the first batches
constexpr std::uint32_t kLookRounds = 3, kSecondLookRounds = 5, kProofRounds = 9;
constexpr int kProofs = 3;

double least(const google::protobuf::RepeatedField<double>& times) {
  return times.empty() ? INFINITY : *std::min_element(times.begin(), times.end());
}

// How many times as fast as the baseline, told low: best against best or the middle round, whichever is less.
double ratio_of(const v1::Timing& timing) {
  std::vector<double> ratios;
  for (int i = 0; i < std::min(timing.baseline_ns_size(), timing.candidate_ns_size()); ++i)
    ratios.push_back(timing.baseline_ns(i) / timing.candidate_ns(i));
  if (ratios.empty()) return 0;
  std::sort(ratios.begin(), ratios.end());
  return std::min(least(timing.baseline_ns()) / least(timing.candidate_ns()), ratios[ratios.size() / 2]);
}

// Faster by more than 3 % at best against best, in the middle round, and faster at all in four rounds of five.
bool is_proved(const v1::Timing& timing) {
  if (!timing.difference().empty() || timing.gave_up() || !(ratio_of(timing) > kWorthKeeping)) return false;
  const int rounds = std::min(timing.baseline_ns_size(), timing.candidate_ns_size());
  int faster = 0;
  for (int i = 0; i < rounds; ++i) faster += timing.candidate_ns(i) < timing.baseline_ns(i);
  return 5 * faster >= 4 * rounds;
}

std::string text_of(const google::protobuf::RepeatedPtrField<v1::Opt>& opts) {
  v1::OptList list;
  *list.mutable_opts() = opts;
  return list.SerializeAsString();
}

// What is run, without what it is called: many opts change nothing in some kernel.
Digest code_of(const v1::Candidate& candidate) {
  v1::Candidate code = candidate;
  code.clear_opts();
  return sha256(code.SerializeAsString());
}

class Search {
 public:
  Search(const v1::FlatKernel& kernel, CandidateRunner& bench, const SearchOptions& options)
      : kernel_(kernel), bench_(bench), options_(options) {}

  SearchResult run() {
    v1::CandidateSpec heuristic;
    *heuristic.mutable_kernel() = kernel_;
    absl::StatusOr<v1::Candidate> base = std::move(bench_.compile({&heuristic, 1}).front());
    if (!base.ok()) {
      result_.status = base.status();
      return std::move(result_);
    }
    result_.heuristic = result_.best = *std::move(base);
    tried_.insert(text_of(result_.heuristic.opts()));
    code_.insert(code_of(result_.heuristic));
    google::protobuf::RepeatedPtrField<v1::Opt> center = result_.heuristic.opts();
    if (options_.best.opts_size() > 0) look_again_at(options_.best);
    std::uint32_t next = options_.from.next();
    if (options_.from.has_around()) {
      center = options_.from.around().opts();
      look_again_at(options_.from.around());
    }
    for (int round = 0; round < options_.most_rounds; ++round) {
      const Round found = climb(center, next);
      if (found == Round::kCutShort) break;
      result_.finished = found == Round::kNothing || round + 1 == options_.most_rounds;
      if (result_.finished) break;
      center = result_.best.opts();
      next = 0;
    }
    prove();
    if (!result_.improved) result_.best = result_.heuristic;
    return std::move(result_);
  }

 private:
  enum class Round { kBetter, kNothing, kCutShort };

  // What an earlier search has tried enters this one's competition.
  void look_again_at(const v1::OptList& opts) {
    v1::CandidateSpec spec;
    *spec.mutable_kernel() = kernel_;
    *spec.mutable_opts() = opts;
    if (!tried_.insert(text_of(opts.opts())).second) return;
    absl::StatusOr<v1::Candidate> candidate = std::move(bench_.compile({&spec, 1}).front());
    if (candidate.ok() && divides_enough(*candidate) && code_.insert(code_of(*candidate)).second)
      look_at(*std::move(candidate));
  }

  // One round around `center`, from candidate `first` on.
  Round climb(const google::protobuf::RepeatedPtrField<v1::Opt>& center, std::uint32_t first) {
    v1::NeighboursSpec spec;
    *spec.mutable_kernel() = kernel_;
    *spec.mutable_opts() = center;
    const absl::StatusOr<v1::Neighbours> near = bench_.neighbours(spec);
    if (!near.ok()) {
      fail(near.status());
      return Round::kNothing;
    }
    const double before = best_ratio_;
    const auto end = static_cast<std::uint32_t>(near->lists_size());
    std::uint32_t at = std::min(first, end);
    for (int left = options_.most_candidates - static_cast<int>(at); at < end && left > 0;) {
      if (num_waves_ > 0 && bench_.is_over()) {
        if (text_of(center) != text_of(result_.heuristic.opts()))
          *result_.rest.mutable_around()->mutable_opts() = center;
        result_.rest.set_next(at);
        return Round::kCutShort;
      }
      std::vector<v1::CandidateSpec> specs;
      for (; at < end && left > 0 && specs.size() < options_.wave; ++at) {
        const v1::OptList& list = near->lists(static_cast<int>(at));
        if (!tried_.insert(text_of(list.opts())).second) continue;
        v1::CandidateSpec& added = specs.emplace_back();
        *added.mutable_kernel() = kernel_;
        *added.mutable_opts() = list;
        --left;
      }
      try_all(specs);
    }
    // A round that goes on where another search was cut short: what that one found counts as this round's.
    const bool better =
        best_ratio_ > before * kWorthClimbing || (first > 0 && text_of(result_.best.opts()) != text_of(center));
    return better ? Round::kBetter : Round::kNothing;
  }

  void try_all(const std::vector<v1::CandidateSpec>& specs) {
    if (specs.empty()) return;
    ++num_waves_;
    for (absl::StatusOr<v1::Candidate>& candidate : bench_.compile(specs)) {
      ++result_.candidates;
      if (!candidate.ok()) {
        fail(candidate.status());
      } else if (divides_enough(*candidate) && code_.insert(code_of(*candidate)).second) {
        look_at(*std::move(candidate));
      }
      if (options_.progress) options_.progress(result_.candidates, best_ratio_);
    }
  }

  // Threads divide the grid: one core's time must not be bought with theirs.
  bool divides_enough(const v1::Candidate& candidate) const {
    auto grid = [](const v1::Candidate& c) { return c.launches_size() ? c.launches(c.launches_size() - 1).grid() : 0; };
    return grid(candidate) >= std::min(grid(result_.heuristic), options_.threads > 1 ? 2 * options_.threads : 1);
  }

  v1::TimeSpec pair(const v1::Candidate& candidate, std::uint32_t rounds) const {
    v1::TimeSpec spec;
    *spec.mutable_baseline() = result_.heuristic;
    *spec.mutable_candidate() = candidate;
    spec.set_rounds(rounds);
    return spec;
  }

  // A candidate that looks fastest is looked at again: the luckiest of many is not the best of them.
  void look_at(v1::Candidate candidate) {
    for (const std::uint32_t rounds : {kLookRounds, kSecondLookRounds}) {
      v1::TimeSpec spec = pair(candidate, rounds);
      spec.set_give_up_ratio(kGiveUp / best_ratio_);
      const absl::StatusOr<v1::Timing> timing = bench_.time(spec);
      if (!timing.ok()) {
        fail(timing.status());
        return;
      }
      if (!timing->difference().empty()) {
        fail(absl::InternalError(timing->difference()));
        return;
      }
      const double ratio = ratio_of(*timing);
      result_.heuristic_ns = least(timing->baseline_ns());
      if (timing->gave_up() || !(ratio > best_ratio_)) return;
      if (rounds == kLookRounds) continue;
      best_ratio_ = ratio;
      result_.best = candidate;
      leaders_.push_back({ratio, candidate});
    }
  }

  // The fastest has to show it again; where it was luck after all, those that led before it may try.
  void prove() {
    bool lucky = false;
    for (int tries = 0; tries < kProofs && !leaders_.empty() && !result_.improved; ++tries) {
      Leader leader = std::move(leaders_.back());
      leaders_.pop_back();
      if (leader.ratio <= kWorthKeeping) break;
      const absl::StatusOr<v1::Timing> timing = bench_.time(pair(leader.candidate, kProofRounds));
      if (!timing.ok()) {
        fail(timing.status());
        continue;
      }
      result_.heuristic_ns = least(timing->baseline_ns());
      result_.best_ns = least(timing->candidate_ns());
      result_.improved = is_proved(*timing);
      result_.best = std::move(leader.candidate);
      lucky = !result_.improved;
    }
    if (lucky) result_.detail = "the best candidate did not stay 3 % faster when it was timed again";
  }

  void fail(const absl::Status& status) {
    ++result_.failed;
    result_.detail = std::string(status.message());
  }

  const v1::FlatKernel& kernel_;
  CandidateRunner& bench_;
  const SearchOptions& options_;
  SearchResult result_;
  struct Leader {
    double ratio;
    v1::Candidate candidate;
  };

  double best_ratio_ = 1;
  int num_waves_ = 0;
  std::vector<Leader> leaders_;  // each faster than those before it
  std::set<std::string> tried_;  // opts
  std::set<Digest> code_;
};

}  // namespace

SearchResult search(const v1::FlatKernel& kernel, CandidateRunner& bench, const SearchOptions& options) {
  return Search(kernel, bench, options).run();
}

}  // namespace hearth::daemon
