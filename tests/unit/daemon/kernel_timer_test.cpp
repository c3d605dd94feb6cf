// The timer runs what it is given, compares before it times, and refuses what it cannot run.
#include "daemon/worker/kernel_timer.h"

#include <catch2/catch.hpp>

#include "runtime/hal/cpu/cpu_target.h"
#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::daemon {
namespace {

constexpr std::uint64_t kBytes = 256 * sizeof(float);

// One kernel from a param of 256 floats to a result of as many; `body` computes o[i] of x[i].
v1::Candidate candidate(const std::string& body) {
  v1::Candidate made;
  for (int i = 0; i < 2; ++i) {
    v1::Candidate::Buffer& buffer = *made.add_buffers();
    buffer.set_dtype(v1::F32);
    buffer.set_bytes(kBytes);
  }
  made.set_num_params(2);
  v1::Candidate::Launch& launch = *made.add_launches();
  launch.set_symbol("k");
  launch.set_artifact(
      hearth::testing::compile_kernel("void k(void* const* b, const int64_t* v, int64_t i0, int64_t i1) {\n"
                                      "  float* o = b[0]; const float* x = b[1]; (void)v;\n"
                                      "  for (int64_t i = i0; i < i1; ++i) { " +
                                      body + " } }\n")
          .bytes);
  launch.add_buffers(0);
  launch.add_buffers(1);
  launch.set_grid(256);
  return made;
}

v1::TimeSpec pair(const std::string& baseline, const std::string& other) {
  v1::TimeSpec spec;
  *spec.mutable_baseline() = candidate(baseline);
  *spec.mutable_candidate() = candidate(other);
  spec.set_rounds(2);
  return spec;
}

const v1::Target kHere = runtime::cpu_target(1);

}  // namespace

TEST_CASE("timer: both are run in turn, as often as asked") {
  const auto timing = time_candidates(pair("o[i] = x[i] * 2;", "o[i] = x[i] + x[i];"), kHere);
  INFO(timing.status());
  REQUIRE(timing.ok());
  CHECK(timing->difference().empty());
  CHECK((timing->baseline_ns_size() == 2 && timing->candidate_ns_size() == 2));
  for (const double ns : timing->candidate_ns()) CHECK(ns > 0);
  CHECK_FALSE(timing->gave_up());
}

TEST_CASE("timer: another result is told, and nothing is timed") {
  for (const char* wrong :
       {"o[i] = i == 77 ? x[i] : x[i] * 2;", "if (i != 77) o[i] = x[i] * 2;", "o[i] = 0.0f/0.0f;"}) {
    const auto timing = time_candidates(pair("o[i] = x[i] * 2;", wrong), kHere);
    REQUIRE(timing.ok());
    CHECK_FALSE(timing->difference().empty());
    CHECK(timing->candidate_ns().empty());
  }
}

TEST_CASE("timer: a slow candidate is given up after one round") {
  v1::TimeSpec spec = pair("o[i] = x[i];", "for (volatile int n = 0; n < 4000; ++n) {} o[i] = x[i];");
  spec.set_rounds(8);
  spec.set_give_up_ratio(1.5);
  const auto timing = time_candidates(spec, kHere);
  REQUIRE(timing.ok());
  CHECK(timing->gave_up());
  CHECK(timing->candidate_ns_size() == 1);
}

TEST_CASE("timer: copies are made before, once or each time") {
  for (const bool once : {true, false}) {
    v1::TimeSpec spec = pair("o[i] = x[i];", "o[i] = x[i];");
    v1::Candidate& copied = *spec.mutable_candidate();
    *copied.add_buffers() = copied.buffers(1);
    *copied.add_launches() = copied.launches(0);
    copied.mutable_launches(0)->set_buffers(0, 2);  // param 1 -> the copy
    copied.mutable_launches(0)->set_once(once);
    copied.mutable_launches(1)->set_buffers(1, 2);  // the copy -> the result
    const auto timing = time_candidates(spec, kHere);
    INFO(timing.status());
    REQUIRE(timing.ok());
    CHECK(timing->difference().empty());
  }
}

TEST_CASE("timer: what makes no sense or cannot run here is refused") {
  const v1::TimeSpec good = pair("o[i] = x[i];", "o[i] = x[i];");
  v1::TimeSpec spec = good;
  spec.mutable_candidate()->mutable_launches(0)->set_buffers(1, 9);
  CHECK(absl::IsInvalidArgument(time_candidates(spec, kHere).status()));
  spec = good;
  spec.mutable_candidate()->set_num_params(1);
  CHECK(absl::IsInvalidArgument(time_candidates(spec, kHere).status()));
  spec = good;
  spec.mutable_candidate()->clear_launches();
  CHECK(absl::IsInvalidArgument(time_candidates(spec, kHere).status()));
  spec = good;
  spec.mutable_candidate()->mutable_launches(0)->set_symbol("no_such");
  CHECK(absl::IsInternal(time_candidates(spec, kHere).status()));
  spec = good;
  spec.mutable_candidate()->mutable_launches(0)->set_artifact("no library");
  CHECK_FALSE(time_candidates(spec, kHere).ok());
  spec = good;
  spec.mutable_candidate()->mutable_buffers(0)->set_bytes(1ull << 60);
  CHECK(absl::IsResourceExhausted(time_candidates(spec, kHere).status()));
  v1::Target other = kHere;
  other.add_features("no-such-feature");
  CHECK(absl::IsFailedPrecondition(time_candidates(good, other).status()));
  other = kHere;
  other.set_triple("another-unknown-linux-gnu");
  CHECK(absl::IsFailedPrecondition(time_candidates(good, other).status()));
}

}  // namespace hearth::daemon
