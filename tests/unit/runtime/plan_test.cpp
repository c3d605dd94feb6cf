#include "runtime/plan/plan.h"

#include <catch2/catch.hpp>

#include "tests/unit/runtime/kernel_factory.h"
#include "tests/unit/runtime/plan_corruption.h"

using hearth::runtime::parse_plan;
using hearth::testing::check_refused;
using hearth::testing::PlanCorruption;
using hearth::testing::push_const;
using hearth::testing::push_op;
using hearth::testing::push_var;
using hearth::testing::saxpy_plan;
using hearth::v1::PlanBuffer;

TEST_CASE("a sound plan is accepted whole") {
  const hearth::v1::Plan wire = saxpy_plan(100, true).plan;
  absl::StatusOr<hearth::runtime::Plan> plan = parse_plan(wire.SerializeAsString());
  REQUIRE(plan.ok());
  CHECK(plan->buffers.size() == 6);
  CHECK(plan->launches.size() == 3);
  CHECK(plan->launches[0].once);
  const std::int64_t values[] = {10};
  CHECK(plan->buffers[0].size_bytes(values) == 40);
}

TEST_CASE("every corruption of a plan is refused and named") {
  using Plan = hearth::v1::Plan;
  auto set_const = [](hearth::v1::Expr* expr, std::int64_t value) {
    expr->clear_tokens();
    push_const(expr, value);
  };
  const PlanCorruption table[] = {
      {"version 99", [](Plan& p) { p.set_version(99); }},
      {"target: the device", [](Plan& p) { p.mutable_target()->clear_device(); }},
      {"arena_bytes", [](Plan& p) { p.set_arena_bytes(std::uint64_t{1} << 60); }},
      {"persistent_bytes", [](Plan& p) { p.set_persistent_bytes(~std::uint64_t{0}); }},
      {"variable 0: the name is empty", [](Plan& p) { p.mutable_vars(0)->clear_name(); }},
      {"variable 0: the name is empty or longer", [](Plan& p) { p.mutable_vars(0)->set_name(std::string(5000, 'n')); }},
      {"variable 1: the name 'n' is used twice", [](Plan& p) { *p.add_vars() = p.vars(0); }},
      {"bounds [-1, 100]", [](Plan& p) { p.mutable_vars(0)->set_min(-1); }},
      {"bounds [101, 100]", [](Plan& p) { p.mutable_vars(0)->set_min(101); }},
      {"buffer 0: dtype 77", [](Plan& p) { p.mutable_buffers(0)->set_dtype(static_cast<hearth::v1::DType>(77)); }},
      {"buffer 0: dtype 0", [](Plan& p) { p.mutable_buffers(0)->clear_dtype(); }},
      {"buffer 0: kind 0", [](Plan& p) { p.mutable_buffers(0)->clear_kind(); }},
      {"buffer 0: kind 55", [](Plan& p) { p.mutable_buffers(0)->set_kind(static_cast<PlanBuffer::Kind>(55)); }},
      {"buffer 1: the name 'x' is used twice", [](Plan& p) { p.mutable_buffers(1)->set_name("x"); }},
      {"buffer 2: the name is empty", [](Plan& p) { p.mutable_buffers(2)->clear_name(); }},
      {"buffer 0: axis 0: the expression is empty", [](Plan& p) { p.mutable_buffers(0)->mutable_shape(0)->Clear(); }},
      {"buffer 0: axis 0: token 0: variable 3",
       [](Plan& p) { p.mutable_buffers(0)->mutable_shape(0)->mutable_tokens(0)->set_value(3); }},
      {"buffer 0: axis 0: the length may be negative",
       [](Plan& p) {
         push_const(p.mutable_buffers(0)->mutable_shape(0), 1);
         push_op(p.mutable_buffers(0)->mutable_shape(0), hearth::v1::ExprToken::SUB);
       }},
      {"buffer 0: the shape is larger",
       [&](Plan& p) { set_const(p.mutable_buffers(0)->mutable_shape(0), std::int64_t{1} << 62); }},
      {"buffer 3: only inputs and outputs begin", [](Plan& p) { p.mutable_buffers(3)->add_storage(200); }},
      {"buffer 0: memory of 2 axes for 1",
       [](Plan& p) { p.mutable_buffers(0)->add_storage(100), p.mutable_buffers(0)->add_storage(2); }},
      {"buffer 0: axis 0: the memory has 99 elements; 100 are", [](Plan& p) { p.mutable_buffers(0)->add_storage(99); }},
      {"buffer 0: its memory is larger than max_bytes", [](Plan& p) { p.mutable_buffers(0)->add_storage(1 << 30); }},
      {"buffer 2: it is made in the place of no input", [](Plan& p) { p.mutable_buffers(2)->set_in_place(true); }},
      {"buffer 2: carried_to 77 is no input", [](Plan& p) { p.mutable_buffers(2)->set_carried_to(77); }},
      {"buffer 0: carried_to 1 is no input", [](Plan& p) { p.mutable_buffers(0)->set_carried_to(1); }},
      {"which plans of version 1 do not have",
       [](Plan& p) { p.mutable_buffers(2)->set_carried_to(1), p.mutable_buffers(2)->set_in_place(true); }},
      {"buffer 2 is made in the place of an input",
       [](Plan& p) {
         p.set_version(2);
         p.mutable_buffers(2)->set_carried_to(1), p.mutable_buffers(2)->set_in_place(true);
       }},
      {"buffer 2: its memory is another one than that of input 'y'",
       [](Plan& p) {
         p.set_version(2);
         p.mutable_buffers(2)->set_carried_to(1), p.mutable_buffers(2)->set_in_place(true);
         p.mutable_buffers(1)->add_storage(100);
       }},
      {"buffer 0: 33 axes",
       [](Plan& p) {
         for (int i = 0; i < 32; ++i) push_const(p.mutable_buffers(0)->add_shape(), 1);
       }},
      {"buffer 0: max_bytes 399 is less", [](Plan& p) { p.mutable_buffers(0)->set_max_bytes(399); }},
      {"buffer 0: max_bytes 18446744073709551615",
       [](Plan& p) { p.mutable_buffers(0)->set_max_bytes(~std::uint64_t{0}); }},
      {"buffer 3: its shape depends on a variable",
       [](Plan& p) {
         p.mutable_buffers(3)->mutable_shape(0)->Clear();
         push_var(p.mutable_buffers(3)->mutable_shape(0), 0);
         p.mutable_buffers(3)->set_max_bytes(400);
       }},
      {"buffer 4: offset 4 is not a multiple", [](Plan& p) { p.mutable_buffers(4)->set_offset(4); }},
      {"buffer 4: bytes [64, +400) lie outside the arena", [](Plan& p) { p.mutable_buffers(4)->set_offset(64); }},
      {"buffer 4: bytes [18446744073709551552",
       [](Plan& p) { p.mutable_buffers(4)->set_offset(~std::uint64_t{0} - 63); }},
      {"buffer 5: bytes [64, +4) lie outside the persistent block",
       [](Plan& p) { p.mutable_buffers(5)->set_offset(64); }},
      {"buffer 0: it holds 3 data bytes", [](Plan& p) { p.mutable_buffers(0)->set_data("abc"); }},
      {"buffer 3: 3 data bytes for max_bytes 4",
       [](Plan& p) {
         p.mutable_buffers(3)->set_kind(PlanBuffer::CONSTANT);
         p.mutable_buffers(3)->set_data("abc");
       }},
      {"kernel 1: the symbol", [](Plan& p) { p.mutable_kernels(1)->set_symbol("a b"); }},
      {"kernel 1: the symbol", [](Plan& p) { p.mutable_kernels(1)->clear_symbol(); }},
      {"kernel 0 'scale': the artifact digest has 31 bytes",
       [](Plan& p) { p.mutable_kernels(0)->mutable_artifact()->resize(31); }},
      {"kernel 0 'scale': summed_slots do not ascend",
       [](Plan& p) { p.mutable_kernels(0)->add_summed_slots(1), p.mutable_kernels(0)->add_summed_slots(0); }},
      {"launch 1: kernel 'scale' sums slot 7", [](Plan& p) { p.mutable_kernels(0)->add_summed_slots(7); }},
      {"kernel 0 'scale': stored_slots do not ascend",
       [](Plan& p) { p.mutable_kernels(0)->add_stored_slots(1), p.mutable_kernels(0)->add_stored_slots(1); }},
      {"launch 1: kernel 'scale' stores to slot 3; the launch has 3",
       [](Plan& p) { p.mutable_kernels(0)->add_stored_slots(0), p.mutable_kernels(0)->add_stored_slots(3); }},
      {"kernel 0 'scale': the workgroup_size is missing",
       [](Plan& p) {
         p.mutable_target()->mutable_gpu()->set_workgroup_size(64);
         p.mutable_kernels(0)->clear_workgroup_size();
       }},
      {"launch 1: kernel 9", [](Plan& p) { p.mutable_launches(1)->set_kernel(9); }},
      {"launch 1: slot 0: buffer 6 does not exist", [](Plan& p) { p.mutable_launches(1)->set_buffers(0, 6); }},
      {"launch 1: variable 4", [](Plan& p) { p.mutable_launches(1)->add_vars(4); }},
      {"launch 1: grid: the expression is empty", [](Plan& p) { p.mutable_launches(1)->clear_grid(); }},
      {"launch 1: the grid may be negative", [&](Plan& p) { set_const(p.mutable_launches(1)->mutable_grid(), -1); }},
      {"launch 1: more than",
       [](Plan& p) {
         for (int i = 0; i <= 1 << 17; ++i) p.mutable_launches(1)->add_buffers(0);
       }},
      {"launch 1: min_units_per_thread",
       [](Plan& p) { p.mutable_launches(1)->set_min_units_per_thread(~std::uint64_t{0}); }},
      {"variable 'n': bounds [0, 100] by 3 are no multiples", [](Plan& p) { p.mutable_vars(0)->set_unit(3); }},
      {"launch 1: min_units_at: the expression is empty",
       [](Plan& p) { p.mutable_launches(1)->mutable_min_units_at(); }},
      {"launch 1: min_units_at: token 0: variable 4",
       [](Plan& p) { push_var(p.mutable_launches(1)->mutable_min_units_at(), 4); }},
      {"launch 0: min_units_at of a once launch depends on a variable",
       [](Plan& p) { push_var(p.mutable_launches(0)->mutable_min_units_at(), 0); }},
      {"launch 1: num_ops: token 0: variable 4",
       [](Plan& p) { push_var(p.mutable_launches(1)->mutable_num_ops(), 4); }},
      {"launch 1: num_ops may be negative", [&](Plan& p) { set_const(p.mutable_launches(1)->mutable_num_ops(), -1); }},
      {"launch 0: num_ops of a once launch depends on a variable",
       [](Plan& p) { push_var(p.mutable_launches(0)->mutable_num_ops(), 0); }},
      {"launch 0: slot 1: a once launch uses buffer 0", [](Plan& p) { p.mutable_launches(0)->set_buffers(1, 0); }},
      {"launch 0: a once launch depends on variable 'n'", [](Plan& p) { p.mutable_launches(0)->add_vars(0); }},
      {"launch 0: the grid of a once launch",
       [](Plan& p) {
         p.mutable_launches(0)->mutable_grid()->Clear();
         push_var(p.mutable_launches(0)->mutable_grid(), 0);
       }},
      {"launch 1: buffers 4 and 6 overlap",
       [](Plan& p) {
         *p.add_buffers() = p.buffers(4);
         p.mutable_buffers(6)->set_offset(64);
         p.set_arena_bytes(1024);
         p.mutable_launches(1)->set_buffers(1, 6);
       }},
  };
  CHECK(std::size(table) >= 25);
  check_refused(saxpy_plan(100, true).plan, table);
}

TEST_CASE("a plan whose launches have as many slots as they may is checked in a moment") {
  constexpr std::uint32_t kSlots = 1 << 17, kLaunches = 20;
  hearth::v1::Plan plan = saxpy_plan(100, true).plan;
  const auto first = static_cast<std::uint32_t>(plan.buffers_size());
  const std::uint64_t begin = (plan.arena_bytes() + 63) / 64 * 64;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    PlanBuffer& buffer = *plan.add_buffers();
    buffer.set_kind(PlanBuffer::ARENA);
    buffer.set_dtype(hearth::v1::F32);
    buffer.set_offset(begin + 64 * ((i * 7919ull) % kSlots));  // in no order
    buffer.set_max_bytes(64);
    push_const(buffer.add_shape(), 16);
  }
  plan.set_arena_bytes(begin + 64ull * kSlots);
  for (std::uint32_t launch = 0; launch < kLaunches; ++launch) {
    hearth::v1::Launch& wide = *plan.add_launches() = plan.launches(1);
    wide.clear_buffers();
    for (std::uint32_t i = 0; i < kSlots; ++i) wide.add_buffers(first + i);
  }
  const auto parsed = parse_plan(plan.SerializeAsString());
  INFO(parsed.status().message());
  CHECK(parsed.ok());
  plan.mutable_buffers(static_cast<int>(first) + 77)->set_max_bytes(128);
  CHECK_THAT(std::string(parse_plan(plan.SerializeAsString()).status().message()), Catch::Contains("overlap"));
}

TEST_CASE("truncated and garbled plans never crash the parser") {
  const std::string bytes = saxpy_plan(100, true).plan.SerializeAsString();
  std::size_t accepted = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) accepted += parse_plan({bytes.data(), size}).ok();
  // Fields at the end may be missing without making a plan wrong; nearly every cut is noticed.
  CHECK(accepted < bytes.size() / 2);
  std::uint32_t state = 1;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string garbled = bytes;
    for (int flips = 0; flips < 3; ++flips) {
      state = state * 1664525 + 1013904223;
      garbled[(state >> 8) % garbled.size()] ^= static_cast<char>(1 << (state & 7));
    }
    const absl::Status status = parse_plan(garbled).status();  // running what is accepted is not this test's matter
    if (status.ok()) continue;
    ++refused;
    CHECK_FALSE(status.message().empty());
  }
  CHECK(refused > 0);
}
