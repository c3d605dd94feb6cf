// The search climbs, gives up, is not fooled by noise, wrong results or crashes, and ends when it is over.
#include "daemon/tune/tune_search.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

namespace hearth::daemon {
namespace {

// Candidates are amounts of one unroll; the heuristic's is 4, neighbours differ by one.
class FakeBench : public CandidateRunner {
 public:
  std::function<double(std::int64_t amount)> time_ns = [](std::int64_t amount) {
    return 100.0 + 10 * std::abs(static_cast<double>(amount) - 9);
  };
  std::function<absl::Status(std::int64_t amount)> compiles = [](std::int64_t) { return absl::OkStatus(); };
  std::function<absl::Status(std::int64_t amount)> runs = [](std::int64_t) { return absl::OkStatus(); };
  std::function<std::string(std::int64_t amount)> differs = [](std::int64_t) { return std::string(); };
  std::function<std::uint64_t(std::int64_t amount)> grid = [](std::int64_t) { return std::uint64_t{8}; };
  std::function<std::string(std::int64_t amount)> code = [](std::int64_t amount) { return std::to_string(amount); };
  // Of the candidate's time when it must show it again.
  std::function<double(std::int64_t amount)> proof = [](std::int64_t) { return 1.0; };
  int compiled_before_over = 1 << 30;
  std::map<std::int64_t, int> timed, compiled;

  static std::int64_t amount_of(const google::protobuf::RepeatedPtrField<v1::Opt>& opts) {
    return opts.Get(0).amount();
  }

  std::vector<absl::StatusOr<v1::Candidate>> compile(std::span<const v1::CandidateSpec> specs) override {
    std::vector<absl::StatusOr<v1::Candidate>> out;
    for (const v1::CandidateSpec& spec : specs) {
      const std::int64_t amount = spec.has_opts() ? amount_of(spec.opts().opts()) : 4;
      ++compiled[amount];
      ++num_compiled_;
      if (absl::Status status = compiles(amount); !status.ok()) {
        out.emplace_back(status);
        continue;
      }
      v1::Candidate candidate;
      candidate.add_opts()->set_amount(amount);
      v1::Candidate::Launch& launch = *candidate.add_launches();
      launch.set_artifact(code(amount));
      launch.set_grid(grid(amount));
      out.emplace_back(std::move(candidate));
    }
    return out;
  }
  absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec& spec) override {
    v1::Neighbours out;
    for (const std::int64_t step : {1, -1}) out.add_lists()->add_opts()->set_amount(amount_of(spec.opts()) + step);
    return out;
  }
  absl::StatusOr<v1::Timing> time(const v1::TimeSpec& spec) override {
    CHECK(amount_of(spec.baseline().opts()) == 4);  // always against the heuristic's
    const std::int64_t amount = amount_of(spec.candidate().opts());
    ++timed[amount];
    if (absl::Status status = runs(amount); !status.ok()) return status;
    v1::Timing timing;
    timing.set_difference(differs(amount));
    const double factor = spec.give_up_ratio() == 0 ? proof(amount) : 1;
    for (std::uint32_t round = 0; round < spec.rounds() && timing.difference().empty(); ++round) {
      timing.add_baseline_ns(time_ns(4));
      timing.add_candidate_ns(time_ns(amount) * factor);
      if (spec.give_up_ratio() > 0 && time_ns(amount) > spec.give_up_ratio() * time_ns(4)) {
        timing.set_gave_up(true);
        break;
      }
    }
    return timing;
  }
  bool is_over() const override { return num_compiled_ >= compiled_before_over; }

 private:
  int num_compiled_ = 0;
};

SearchOptions patient() {
  SearchOptions options;
  options.most_rounds = 20;
  return options;
}

}  // namespace

TEST_CASE("search: climbs to the fastest, looks at each candidate once and proves the winner") {
  FakeBench bench;
  SearchOptions options = patient();
  std::vector<double> speedups;
  options.progress = [&](std::uint32_t, double speedup) { speedups.push_back(speedup); };
  const SearchResult found = search({}, bench, options);
  REQUIRE(found.status.ok());
  REQUIRE(found.improved);
  CHECK(found.best.opts(0).amount() == 9);
  CHECK(found.heuristic.opts(0).amount() == 4);
  CHECK(found.heuristic_ns == 150);
  CHECK(found.best_ns == 100);
  CHECK(found.failed == 0);
  for (const auto& [amount, times] : bench.compiled) CHECK(times == 1);
  CHECK(bench.timed[9] == 3);  // two looks and the proof
  CHECK(bench.timed[8] == 2);  // it was the best for a while
  CHECK(bench.timed[3] == 1);
  CHECK(std::is_sorted(speedups.begin(), speedups.end()));
  CHECK(speedups.back() == 1.5);
}

TEST_CASE("search: nothing faster leaves the heuristic's") {
  FakeBench bench;
  bench.time_ns = [](std::int64_t amount) { return amount == 4 ? 100.0 : 101.0; };
  const SearchResult found = search({}, bench, patient());
  CHECK_FALSE(found.improved);
  CHECK(found.best.opts(0).amount() == 4);
  CHECK(found.candidates == 2);
}

TEST_CASE("search: luck at the first look does not lead the way") {
  FakeBench bench;
  std::map<std::int64_t, int> looks;
  bench.time_ns = [&](std::int64_t amount) {
    if (amount == 3) return ++looks[3] <= 3 * 2 ? 10.0 : 120.0;  // lucky as long as the first look
    return amount == 5 ? 80.0 : 100.0;
  };
  const SearchResult found = search({}, bench, patient());
  REQUIRE(found.improved);
  CHECK(found.best.opts(0).amount() == 5);
}

TEST_CASE("search: where the fastest cannot show it again, the one that led before it may") {
  FakeBench bench;
  int proofs = 0;
  bench.proof = [&](std::int64_t) { return ++proofs == 1 ? 2.0 : 1.0; };
  const SearchResult found = search({}, bench, patient());
  REQUIRE(found.improved);
  CHECK(found.best.opts(0).amount() == 8);
  CHECK(found.best_ns == 110);
}

TEST_CASE("search: a winner that cannot show it again is none, nor is one of three percent") {
  FakeBench lucky;
  lucky.proof = [](std::int64_t) { return 1.6; };
  CHECK_FALSE(search({}, lucky, patient()).improved);
  FakeBench slight;
  slight.time_ns = [](std::int64_t amount) { return amount == 5 ? 97.5 : 100.0; };
  CHECK_FALSE(search({}, slight, patient()).improved);
  slight.time_ns = [](std::int64_t amount) { return amount == 5 ? 96.0 : 100.0; };
  CHECK(search({}, slight, patient()).improved);
}

TEST_CASE("search: what computes something else, does not compile or crashes loses only itself") {
  FakeBench bench;
  bench.time_ns = [](std::int64_t amount) { return 100.0 - static_cast<double>(amount); };  // more is faster
  SECTION("another result") {
    bench.differs = [](std::int64_t amount) { return amount == 7 ? "element 3" : ""; };
  }
  SECTION("a crash") {
    bench.runs = [](std::int64_t amount) {
      return amount == 7 ? absl::InternalError("the worker crashed") : absl::OkStatus();
    };
  }
  SECTION("no code") {
    bench.compiles = [](std::int64_t amount) {
      return amount == 7 ? absl::InternalError("not compiled") : absl::OkStatus();
    };
  }
  bench.time_ns = [](std::int64_t amount) { return amount > 6 ? 10.0 : 100.0 - 10 * static_cast<double>(amount); };
  const SearchResult found = search({}, bench, patient());
  REQUIRE(found.improved);
  CHECK(found.best.opts(0).amount() == 6);
  CHECK(found.failed == 1);
  CHECK_FALSE(found.detail.empty());
}

TEST_CASE("search: the heuristic's kernel itself failing is told") {
  FakeBench bench;
  bench.compiles = [](std::int64_t) { return absl::InternalError("no"); };
  CHECK(absl::IsInternal(search({}, bench, patient()).status));
}

TEST_CASE("search: a slow candidate is given up, and equal code is not timed twice") {
  FakeBench bench;
  bench.time_ns = [](std::int64_t amount) { return amount == 3 ? 1000.0 : 100.0; };
  bench.code = [](std::int64_t amount) { return amount >= 4 ? std::string("the same") : std::to_string(amount); };
  const SearchResult found = search({}, bench, patient());
  CHECK_FALSE(found.improved);
  CHECK(bench.timed.count(5) == 0);
  CHECK(bench.timed[3] == 1);
}

TEST_CASE("search: threads keep enough units to divide") {
  FakeBench bench;
  bench.grid = [](std::int64_t amount) { return static_cast<std::uint64_t>(amount > 4 ? 1 : 8); };
  SearchOptions options = patient();
  CHECK(search({}, bench, options).improved);  // one thread needs no units
  options.threads = 4;
  CHECK_FALSE(search({}, bench, options).improved);
}

TEST_CASE("search: no wave begins when it is over, and what was found is still proved") {
  FakeBench bench;
  bench.compiled_before_over = 3;  // the heuristic's and its two neighbours
  const SearchResult found = search({}, bench, patient());
  CHECK(bench.compiled.size() == 3);
  REQUIRE(found.improved);
  CHECK(found.best.opts(0).amount() == 5);
  CHECK_FALSE(found.finished);
}

TEST_CASE("search: one that is over from the start still tries something, and says where to go on") {
  FakeBench bench;
  bench.time_ns = [](std::int64_t amount) { return amount == 4 ? 100.0 : 101.0; };
  bench.compiled_before_over = 0;
  SearchOptions options = patient();
  options.wave = 1;
  const SearchResult first = search({}, bench, options);
  CHECK((first.candidates == 1 && !first.finished && !first.improved));
  CHECK((!first.rest.has_around() && first.rest.next() == 1));
  options.from = first.rest;
  const SearchResult second = search({}, bench, options);
  CHECK((second.candidates == 1 && second.finished && !second.improved));
  CHECK((bench.timed[5] == 1 && bench.timed[3] == 1));
}

TEST_CASE("search: many short ones find what a long one does") {
  SearchOptions options = patient();
  options.wave = 1;
  FakeBench patient_bench, hurried;
  const SearchResult whole = search({}, patient_bench, options);
  REQUIRE((whole.improved && whole.finished));
  hurried.compiled_before_over = 0;
  int searches = 0;
  for (bool finished = false; !finished && searches < 100; ++searches) {
    const SearchResult found = search({}, hurried, options);
    CHECK(found.candidates <= 1);
    if (found.improved) *options.best.mutable_opts() = found.best.opts();
    options.from = found.rest;
    finished = found.finished;
  }
  CHECK(searches < 30);
  REQUIRE(options.best.opts_size() == 1);
  CHECK(options.best.opts(0).amount() == whole.best.opts(0).amount());
}

}  // namespace hearth::daemon
