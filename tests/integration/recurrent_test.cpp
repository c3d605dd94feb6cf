// JitRecurrent against a daemon of this test's own.
#include "hearth/jit_recurrent.h"

#include <catch2/catch.hpp>

#include "hearth/jit_wrapper.h"
#include "hearth/ops.h"
#include "tests/integration/live_daemon.h"

using namespace hearth;
using namespace hearth::client;
using Catch::Matchers::Contains;
using hearth::integration::LiveDaemon;

namespace {

constexpr std::int64_t kSize = 3;

struct Cell {
  double decay = 0.5;
};

// h' = decay·h + x, c' = c + h', head = the sum of h' and twice its first element.
HEARTH_JIT_WRAPPER(CellJit, Cell, (x, h, c)) {
  const Tensor next_h = h * model.decay + x;
  const Tensor next_c = c + next_h;
  const Tensor first = slice(next_h, {{.axis = 1, .begin = 0, .end = 1}});
  return cat({reduce_sum(next_h, {1}, true), first * 2.0, next_h, next_c}, 1);
}

absl::Status pack_state(CellJit::Prepared& jit, const LstmState& state) {
  if (absl::Status packed = copy_into(jit.h_mut(), state.h); !packed.ok()) return packed;
  return copy_into(jit.c_mut(), state.c);
}

absl::StatusOr<CellJit::Prepared> prepared(const LiveDaemon& daemon) {
  const InputSpec spec = InputSpec::f32({1, kSize});
  return CellJit(Cell()).prepare_with_config(spec, spec, spec, daemon.config());
}

}  // namespace

TEST_CASE("a recurrent wrapper carries its state from step to step, and starts anew after reset") {
  const LiveDaemon daemon;
  auto jit = prepared(daemon);
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  auto cell = JitRecurrent<CellJit::Prepared>::make(*std::move(jit), LstmState::zeros(kSize), 2);
  INFO(cell.status().message());
  REQUIRE(cell.ok());
  for (int sequence = 0; sequence < 2; ++sequence) {
    std::vector<float> h(kSize, 0), c(kSize, 0);
    for (int t = 0; t < 5; ++t) {
      std::vector<float> x;
      for (int i = 0; i < kSize; ++i) x.push_back(static_cast<float>(t + i + sequence));
      const auto head = cell->step([&](CellJit::Prepared& own) { return copy_into(own.x_mut(), x); });
      REQUIRE(head.ok());
      REQUIRE(head->size() == 2);
      float sum = 0;
      for (std::size_t i = 0; i < kSize; ++i) {
        h[i] = 0.5F * h[i] + x[i];
        c[i] += h[i];
        sum += h[i];
      }
      CHECK((*head)[0] == Approx(sum));
      CHECK((*head)[1] == 2 * h[0]);
      CHECK(cell->state().h == h);
      CHECK(cell->state().c == c);
    }
    CHECK(cell->last_timing().execute.count() > 0);
    CHECK(cell->last_timing().pack.count() > 0);
    CHECK(cell->last_timing().read.count() > 0);
    cell->reset();
    CHECK(cell->state().h == std::vector<float>(kSize, 0));
    CHECK(cell->state().c == std::vector<float>(kSize, 0));
  }
}

TEST_CASE("an output that is not head + state is refused when the wrapper is made") {
  const LiveDaemon daemon;
  for (const auto& [size, head] : std::vector<std::pair<std::size_t, std::size_t>>{{3, 1}, {3, 3}, {2, 2}, {4, 2}}) {
    const auto cell = JitRecurrent<CellJit::Prepared>::make(*prepared(daemon), LstmState::zeros(size), head);
    REQUIRE(!cell.ok());
    CHECK(jit_error_kind(cell.status()) == JitErrorKind::kOutputLayoutMismatch);
    CHECK_THAT(std::string(cell.status().message()), Contains("the output has 8 elements of f32; head"));
  }
  const auto empty = JitRecurrent<CellJit::Prepared>::make(CellJit::Prepared(), LstmState::zeros(kSize), 2);
  CHECK(jit_error_kind(empty.status()) == JitErrorKind::kNotPrepared);
}

TEST_CASE("a step that fails leaves the state as it was") {
  const LiveDaemon daemon;
  auto cell = JitRecurrent<CellJit::Prepared>::make(*prepared(daemon), {{1, 2, 3}, {4, 5, 6}}, 2);
  REQUIRE(cell.ok());
  const auto failed = cell->step([](CellJit::Prepared&) { return absl::CancelledError("no audio"); });
  CHECK(absl::IsCancelled(failed.status()));
  const auto large =
      cell->step([](CellJit::Prepared& own) { return copy_into(own.x_mut(), std::vector<float>(kSize + 1)); });
  CHECK(jit_error_kind(large.status()) == JitErrorKind::kRuntime);
  CHECK_THAT(std::string(large.status().message()), Contains("room for 3 elements of f32; 4 were given"));
  CHECK(cell->state().h == std::vector<float>{1, 2, 3});
  CHECK(cell->state().c == std::vector<float>{4, 5, 6});
}
