// The JIT wrapper, row by row of its specification, against a daemon of this test's own.
#include "hearth/jit_wrapper.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/integration/jit_checks.h"
#include "tests/integration/live_daemon.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::integration;
using Catch::Matchers::Contains;

namespace {

HEARTH_JIT_WRAPPER(LineJit, Line, (x)) { return line(model, x); }

// Rows beyond `n` are cut off.
HEARTH_JIT_WRAPPER(RowsJit, Line, (x, y), (n, 1, model.max_rows)) { return line(model, shrink(x + y, {0, 0}, {n, 2})); }

HEARTH_JIT_WRAPPER(DenseJit, Line, (x), (a, 1, 4), (b, 2, 5)) { return reduce_sum(line(model, x), {-1}); }

// The rate chooses between two bodies while they are recorded.
HEARTH_JIT_WRAPPER(RateJit, Line, (x, rate)) {
  const std::string bytes = rate.constant_bytes().value();
  std::int64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value == 16000 ? line(model, x) : x - 1.0;
}

// Names that the wrapper's own code might have.
HEARTH_JIT_WRAPPER(NamesJit, Line, (config, loc, specs, build, inputs, vars, self, prepare), (status, 1, 4)) {
  return line(model, config + loc + specs + build + inputs + vars + self + prepare +
                         shrink(full({4, 2}, 0.0, DType::kF32), {0, 0}, {status, 2}));
}

HEARTH_JIT_WRAPPER(BadOpJit, Line, (x)) { return reshape(x, {7}); }
HEARTH_JIT_WRAPPER(ErrorJit, Line, (x)) { return absl::StatusOr<Tensor>(absl::NotFoundError("no weights")); }
HEARTH_JIT_WRAPPER(ThrowJit, Line, (x)) { throw std::runtime_error("broken model"); }
HEARTH_JIT_WRAPPER(UnreadJit, Line, (x, unread)) { return x + 1.0; }
HEARTH_JIT_WRAPPER(OwnInputJit, Line, (x)) { return x + input("z", {1, 2}, DType::kF32); }
HEARTH_JIT_WRAPPER(TwiceJit, Line, (x)) { return x + input("x", {1, 2}, DType::kF32); }
}  // namespace

TEST_CASE("a wrapper prepares once and replays with its inputs in place") {
  const LiveDaemon daemon;
  auto jit = LineJit(Line()).prepare_with_config(InputSpec::f32({1, 2}), daemon.config());
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  // Placeholders are zeroed: a replay before any input was written is that of zeros.
  REQUIRE(jit->execute().ok());
  CHECK(values(jit->output()) == std::vector<float>{1, 1});
  for (float x : {1.0F, 2.0F, -3.0F}) {
    fill(jit->x_mut(), {x, x});
    REQUIRE(jit->execute().ok());
    CHECK(values(jit->output()) == std::vector<float>{2 * x + 1, 3 * x + 1});
  }
  CHECK(jit->output("out").ok());
  check_kind(jit->output("none"), JitErrorKind::kRuntime, "'out'");
  const float bound[2] = {10, 20};
  REQUIRE(jit->bind_input("x", bound, sizeof(bound)).ok());
  REQUIRE(jit->execute().ok());
  CHECK(values(jit->output()) == std::vector<float>{21, 61});
}

TEST_CASE("inputs and variables of a wrapper have any names") {
  const LiveDaemon daemon;
  const InputSpec one = InputSpec::f32({1, 2});
  auto jit = NamesJit(Line()).prepare_with_config(one, one, one, one, one, one, one, one, daemon.config());
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  fill(jit->config_mut(), {1, 1});
  fill(jit->loc_mut(), {2, 2});
  fill(jit->prepare_mut(), {4, 4});
  REQUIRE(jit->execute_with_vars({{"status", 1}}).ok());
  CHECK(values(jit->output()) == std::vector<float>{15, 22});
}

TEST_CASE("an input that is bound to an array of constants is no memory to write to") {
  const LiveDaemon daemon;
  auto jit = LineJit(Line()).prepare_with_config(InputSpec::f32({1, 2}), daemon.config());
  REQUIRE(jit.ok());
  fill(jit->x_mut(), {5, 5});
  static const float kConstants[2] = {10, 20};
  REQUIRE(jit->bind_input("x", kConstants, sizeof kConstants).ok());
  check_kind(jit->x_mut(), JitErrorKind::kRuntime, "input 'x' is bound to the caller's memory");
  check_kind(copy_into(jit->x_mut(), std::vector<float>{1, 1}), JitErrorKind::kRuntime, "unbind_input");
  REQUIRE(jit->execute().ok());
  CHECK(values(jit->output()) == std::vector<float>{21, 61});
  REQUIRE(jit->unbind_input("x").ok());
  REQUIRE(jit->execute().ok());
  CHECK(values(jit->output()) == std::vector<float>{11, 16});  // what was written before
  fill(jit->x_mut(), {1, 1});
  REQUIRE(jit->execute().ok());
  CHECK(values(jit->output()) == std::vector<float>{3, 4});
  CHECK(kConstants[1] == 20);
  check_kind(jit->unbind_input("z"), JitErrorKind::kRuntime, "'x'");
}

TEST_CASE("an input that is a constant is known to the body, and no execute takes another value for it") {
  const LiveDaemon daemon;
  const RateJit wrapper{Line()};
  const InputSpec x = InputSpec::f32({1, 2});
  auto wide = wrapper.prepare_with_config(x, InputSpec::constant(std::int64_t{16000}), daemon.config());
  INFO(wide.status().message());
  REQUIRE(wide.ok());
  fill(wide->x_mut(), {1, 1});
  REQUIRE(wide->execute().ok());
  CHECK(values(wide->output()) == std::vector<float>{3, 4});
  const std::int64_t same = 16000, other = 8000;
  REQUIRE(wide->bind_input("rate", &same, sizeof same).ok());
  CHECK(wide->execute().ok());
  REQUIRE(wide->bind_input("rate", &other, sizeof other).ok());
  check_kind(wide->execute(), JitErrorKind::kRuntime, "input 'rate' is 8000; the plan was prepared for 16000");
  check_kind(wide->bind_input("rate", &other, 4), JitErrorKind::kRuntime, "it needs 8 bytes");
  auto narrow = wrapper.prepare_with_config(x, InputSpec::constant(std::int64_t{8000}), daemon.config());
  REQUIRE(narrow.ok());
  fill(narrow->x_mut(), {1, 1});
  REQUIRE(narrow->execute().ok());
  CHECK(values(narrow->output()) == std::vector<float>{0, 0});
  const InputSpec wrong = InputSpec::constant(Array{DType::kI64, {2}, "short"});
  check_kind(wrapper.prepare_with_config(x, wrong, daemon.config()), JitErrorKind::kTensor, "input 'rate'");
}

TEST_CASE("nothing done to the caller's model after prepare changes results, and a wrapper prepares again") {
  const LiveDaemon daemon;
  Line model;
  const LineJit wrapper(model);
  auto first = wrapper.prepare_with_config(InputSpec::f32({1, 2}), daemon.config());
  model.slope = {100, 100};
  model.shift = 100;
  auto second = wrapper.prepare_with_config(InputSpec::f32({1, 2}), daemon.config());
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(second->stats()->plan_hit);
  for (auto* jit : {&*first, &*second}) {
    fill(jit->x_mut(), {1, 1});
    REQUIRE(jit->execute().ok());
    CHECK(values(jit->output()) == std::vector<float>{3, 4});
  }
  CHECK(wrapper.model().shift == 1);
}

TEST_CASE("execute_with_vars binds variables for one replay; those not given are at their upper bounds") {
  const LiveDaemon daemon;
  auto jit = RowsJit(Line()).prepare_with_config(InputSpec::f32({8, 2}), InputSpec::f32({8, 2}), daemon.config());
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  std::vector<float> ones(16, 1);
  fill(jit->x_mut(), ones);
  fill(jit->y_mut(), ones);
  REQUIRE(jit->execute_with_vars({{"n", 3}}).ok());
  CHECK(values(jit->output()) == std::vector<float>{5, 7, 5, 7, 5, 7});
  CHECK(jit->output()->shape == std::vector<std::int64_t>{3, 2});
  REQUIRE(jit->execute().ok());
  CHECK(jit->output()->shape == std::vector<std::int64_t>{8, 2});
  check_kind(jit->execute_with_vars({{"n", 9}}), JitErrorKind::kRuntime, "'n' cannot be 9; expected 1 to 8");
  check_kind(jit->execute_with_vars({{"n", 0}}), JitErrorKind::kRuntime, "expected 1 to 8");
  check_kind(jit->execute_with_vars({{"n", 2}, {"m", 1}}), JitErrorKind::kRuntime, "no variable 'm'");
  check_kind(jit->execute_with_vars_profiled({{"m", 1}}), JitErrorKind::kRuntime, "no variable 'm'");
  // A refused call changed nothing.
  CHECK(jit->output()->shape == std::vector<std::int64_t>{8, 2});
}

TEST_CASE("bounds are set before prepare and crossing ones are refused at the caller's line") {
  const LiveDaemon daemon;
  const RowsJit wrapper{Line()};
  CHECK_THROWS_WITH(wrapper.with_n_bound(0), Contains("RowsJit::with_n_bound") && Contains("jit_wrapper_test.cpp:"));
  CHECK_THROWS_AS(wrapper.with_n_min_bound(9), JitError);
  CHECK_THROWS_AS(wrapper.with_n_min_bound(-1), JitError);
  CHECK_THROWS_AS(wrapper.with_n_fixed(0), JitError);
  CHECK(wrapper.dim_n().max() == 8);
  const RowsJit smaller = wrapper.with_n_bound(4).with_n_min_bound(2);
  CHECK(smaller.dim_n().min() == 2);
  CHECK(smaller.dim_n().max() == 4);
  auto jit = smaller.prepare_with_config(InputSpec::f32({8, 2}), InputSpec::f32({8, 2}), daemon.config());
  REQUIRE(jit.ok());
  REQUIRE(jit->execute().ok());
  CHECK(jit->output()->shape == std::vector<std::int64_t>{4, 2});
  check_kind(jit->execute_with_vars({{"n", 5}}), JitErrorKind::kRuntime, "expected 2 to 4");
  check_kind(jit->execute_with_vars({{"n", 1}}), JitErrorKind::kRuntime, "expected 2 to 4");
}

TEST_CASE("a fixed variable is a constant of the plan") {
  const LiveDaemon daemon;
  const RowsJit wrapper = RowsJit(Line()).with_n_fixed(5);
  CHECK(wrapper.dim_n().is_const());
  auto jit = wrapper.prepare_with_config(InputSpec::f32({8, 2}), InputSpec::f32({8, 2}), daemon.config());
  REQUIRE(jit.ok());
  REQUIRE(jit->execute_with_vars({{"n", 5}}).ok());
  CHECK(jit->output()->shape == std::vector<std::int64_t>{5, 2});
  check_kind(jit->execute_with_vars({{"n", 4}}), JitErrorKind::kRuntime, "expected 5 to 5");
}

TEST_CASE("inputs may have the variables' lengths, dense at the values of the next execute") {
  const LiveDaemon daemon;
  const DenseJit wrapper{Line()};
  const InputSpec spec = InputSpec::f32({wrapper.dim_a(), wrapper.dim_b(), 2});
  auto jit = wrapper.prepare_with_config(spec, daemon.config());
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  CHECK(jit->x_mut()->shape == std::vector<std::int64_t>{4, 5, 2});
  fill(jit->x_mut(), {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  REQUIRE(jit->execute_with_vars({{"a", 2}, {"b", 3}}).ok());
  CHECK(jit->output()->shape == std::vector<std::int64_t>{2, 3});
  CHECK(values(jit->output()) == std::vector<float>{7, 12, 17, 22, 27, 32});
}

TEST_CASE("a wrapper that was never prepared, or was moved from, says so") {
  LineJit::Prepared jit;
  const auto check_all = [&] {
    check_kind(jit.x_mut(), JitErrorKind::kNotPrepared, "before prepare()");
    check_kind(jit.output(), JitErrorKind::kNotPrepared, "output()");
    check_kind(jit.execute(), JitErrorKind::kNotPrepared, "execute()");
    check_kind(jit.execute_with_vars({{"n", 1}}), JitErrorKind::kNotPrepared, "execute()");
    check_kind(jit.execute_profiled(), JitErrorKind::kNotPrepared, "execute_profiled()");
    check_kind(copy_into(jit.x_mut(), std::vector<float>(2)), JitErrorKind::kNotPrepared, "before prepare()");
    check_kind(jit.bind_input("x", nullptr, 0), JitErrorKind::kNotPrepared, "bind_input()");
    check_kind(jit.carry("out", "x"), JitErrorKind::kNotPrepared, "carry()");
    check_kind(jit.set_carried("x"), JitErrorKind::kNotPrepared, "set_carried()");
    check_kind(jit.buffers(), JitErrorKind::kNotPrepared, "buffers()");
    check_kind(jit.buffer(0), JitErrorKind::kNotPrepared, "buffer()");
    check_kind(jit.output_buffers(), JitErrorKind::kNotPrepared, "output_buffers()");
    check_kind(jit.input_buffer_ids(), JitErrorKind::kNotPrepared, "input_buffer_ids()");
    check_kind(jit.prepared_kernels(), JitErrorKind::kNotPrepared, "prepared_kernels()");
    check_kind(jit.stats(), JitErrorKind::kNotPrepared, "stats()");
    check_kind(jit.plan(), JitErrorKind::kNotPrepared, "plan()");
    check_kind(jit.instantiate(), JitErrorKind::kNotPrepared, "instantiate()");
  };
  check_all();
  const LiveDaemon daemon;
  auto prepared = LineJit(Line()).prepare_with_config(InputSpec::f32({1, 2}), daemon.config());
  REQUIRE(prepared.ok());
  jit = *std::move(prepared);
  CHECK(jit.execute().ok());
  const LineJit::Prepared taken = std::move(jit);
  check_all();
}

TEST_CASE("each failure of prepare has its kind, and the wrapper can be used again") {
  const LiveDaemon daemon;
  const PrepareConfig good = daemon.config();
  const InputSpec spec = InputSpec::f32({1, 2});
  check_kind(BadOpJit(Line()).prepare_with_config(spec, good), JitErrorKind::kTensor, "reshape");
  check_kind(ErrorJit(Line()).prepare_with_config(spec, good), JitErrorKind::kBuild, "no weights");
  CHECK(absl::IsNotFound(ErrorJit(Line()).prepare_with_config(spec, good).status()));
  check_kind(ThrowJit(Line()).prepare_with_config(spec, good), JitErrorKind::kBuild, "broken model");
  check_kind(UnreadJit(Line()).prepare_with_config(spec, spec, good), JitErrorKind::kInputBufferNotFound, "'unread'");
  check_kind(OwnInputJit(Line()).prepare_with_config(spec, good), JitErrorKind::kBuild, "'z'");
  check_kind(TwiceJit(Line()).prepare_with_config(spec, good), JitErrorKind::kDuplicateInputBuffer, "'x'");
  const LineJit wrapper{Line()};
  check_kind(wrapper.prepare_with_config(InputSpec::f32({1, -2}), good), JitErrorKind::kTensor,
             "jit_wrapper_test.cpp:");
  check_kind(wrapper.prepare_with_config(InputSpec::f32({1, 3}), good), JitErrorKind::kTensor, "broadcast");
  PrepareConfig nobody = good;
  nobody.socket += ".none";
  check_kind(wrapper.prepare_with_config(spec, nobody), JitErrorKind::kDevice, "");
  nobody = good;
  nobody.device = "abacus";
  check_kind(wrapper.prepare_with_config(spec, nobody), JitErrorKind::kDevice, "abacus");
  CHECK(wrapper.prepare_with_config(spec, good).ok());
}

TEST_CASE("instances of one prepared wrapper replay side by side") {
  const LiveDaemon daemon;
  auto jit = LineJit(Line()).prepare_with_config(InputSpec::f32({1, 2}), daemon.config());
  REQUIRE(jit.ok());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      auto own = jit->instantiate();
      if (!own.ok()) {
        wrong[t] = -1;
        return;
      }
      for (int i = 0; i < 1000; ++i) {
        const auto x = static_cast<float>(i + static_cast<int>(t));
        if (!own->x_mut()->fill(x).ok() || !own->execute().ok()) ++wrong[t];
        const auto y = *own->output()->as<float>();
        if (y[0] != 2 * x + 1 || y[1] != 3 * x + 1) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("prepare() reads its configuration from the environment") {
  const LiveDaemon daemon;
  const LineJit wrapper{Line()};
  ::setenv("HEARTH_SOCKET", daemon.socket().c_str(), 1);
  ::setenv("HEARTH_THREADS", "1", 1);
  CHECK(wrapper.prepare(InputSpec::f32({1, 2})).ok());
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"HEARTH_THREADS", "many"},  {"HEARTH_PREPARE_TIMEOUT_MS", "0"},  {"HEARTH_OPT_LEVEL", "9"},
      {"HEARTH_FAST_MATH", "yes"}, {"HEARTH_DIRECT_CONVOLUTIONS", "2"}, {"HEARTH_DEVICE", "abacus"}};
  for (const auto& [name, value] : wrong) {
    ::setenv(name, value, 1);
    check_kind(wrapper.prepare(InputSpec::f32({1, 2})), JitErrorKind::kDevice, value);
    ::unsetenv(name);
  }
  ::setenv("HEARTH_PREPARE_TIMEOUT_MS", "1500", 1);
  ::setenv("HEARTH_FAST_MATH", "1", 1);
  ::setenv("HEARTH_DIRECT_CONVOLUTIONS", "1", 1);
  const auto read = PrepareConfig::from_env();
  REQUIRE(read.ok());
  CHECK(read->deadline == std::chrono::milliseconds(1500));
  CHECK((read->fast_math && read->direct_convolutions));
  for (const char* name :
       {"HEARTH_SOCKET", "HEARTH_PREPARE_TIMEOUT_MS", "HEARTH_FAST_MATH", "HEARTH_DIRECT_CONVOLUTIONS"})
    ::unsetenv(name);
}
