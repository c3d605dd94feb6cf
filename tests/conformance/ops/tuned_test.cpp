// Tuning records change kernels and nothing else: what the search may propose computes the same in every execution, and
// a record that does not fit leaves the heuristic's kernel.
#include <catch2/catch.hpp>

#include "compiler/candidate.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

struct TunedCase {
  const char* name;
  v1::Graph graph;
  Feed feed;
  Tolerance tolerance;
};

Dims dims_of(const Shape& shape) { return Dims(shape.begin(), shape.end()); }

// relu(x·w + b), exact on integers.
TunedCase dense() {
  GraphBuilder b;
  const Node x = b.input(v1::I32, {13, 11}), w = b.parameter(v1::I32, {11, 21}), c = b.input(v1::I32, {1, 21});
  const Node sum = b.op(v1::ADD, {b.op(v1::MATMUL, {x, w}), b.expand(c, {13, 21})});
  b.output(b.op(v1::MAX, {sum, b.expand(b.reshape(b.fill(v1::I32, {}, {}), {1, 1}), {13, 21})}));
  return {"dense",
          b.graph(),
          {{ramp(Scalar::I32, {13, 11}), ramp(Scalar::I32, {11, 21}, 2), ramp(Scalar::I32, {1, 21}, 3)}, {}},
          Tolerance::exact()};
}

// Both operands change at every replay, the second is transposed.
TunedCase product_of_inputs() {
  GraphBuilder b;
  const Node x = b.input(v1::F32, {17, 9}), y = b.input(v1::F32, {19, 9});
  b.output(b.op(v1::MATMUL, {x, b.permute(y, {1, 0})}));
  return {"product of inputs",
          b.graph(),
          {{uniform(Scalar::F32, {17, 9}), uniform(Scalar::F32, {19, 9}, 2)}, {}},
          roundings(Scalar::F32, 64)};
}

// Rows kept in an allocation: two stores.
TunedCase tuned_softmax() {
  GraphBuilder b;
  const Shape shape = {5, 37};
  const Node x = b.input(v1::F32, dims_of(shape));
  const Node shifted = b.op(v1::SUB, {x, b.expand(b.reduce(v1::REDUCE_MAX, x, {1}), dims_of(shape))});
  const Node e = b.op(v1::EXP, {shifted});
  b.output(b.op(v1::DIV, {e, b.expand(b.reduce(v1::REDUCE_SUM, e, {1}), dims_of(shape))}));
  return {"softmax", b.graph(), {{uniform(Scalar::F32, shape)}, {}}, roundings(Scalar::F32, 64)};
}

// A window sum with a symbolic length.
TunedCase windows() {
  GraphBuilder b;
  const Dim n = b.var("n", 3, 40);
  const Node x = b.input(v1::I32, {3, n});
  b.output(b.reduce(v1::REDUCE_SUM, b.unfold(x, 1, 3, 1, 1), {2}));
  return {"windows", b.graph(), {{ramp(Scalar::I32, {3, 29})}, {29}}, Tolerance::exact()};
}

std::vector<TunedCase> cases() { return {dense(), product_of_inputs(), tuned_softmax(), windows()}; }

Program::TuningRecords record_of(const v1::KernelChoice& choice, const v1::OptList& opts) {
  Program::TuningRecords records;
  v1::TuningRecord& record = *records.Add();
  record.set_kernel(choice.digest());
  *record.mutable_opts() = opts.opts();
  return records;
}

std::string asts(const v1::LoweredPlan& plan) {
  std::string text;
  for (const v1::KernelSpec& kernel : plan.kernels()) text += kernel.ast();
  return text;
}

}  // namespace

TEST_CASE("tuned: every candidate that is taken computes what the graph says; some change its kernel") {
  int taken = 0, changed = 0, refused = 0;
  for (const v1::Target& target : {host_target(), wide_target()}) {
    for (TunedCase& c : cases()) {
      INFO(c.name << " " << target.vector_bits());
      const Program plain(c.graph, target);
      REQUIRE(plain.lowered().choices_size() == plain.lowered().kernels_size());
      for (const v1::KernelChoice& choice : plain.lowered().choices()) {
        CHECK_FALSE(choice.tuned());
        v1::NeighboursSpec spec;
        *spec.mutable_kernel() = choice.flat();
        *spec.mutable_opts() = choice.opts();
        const auto near = compiler::neighbours(spec, target);
        INFO(near.status());
        REQUIRE(near.ok());
        const int step = std::max(1, near->lists_size() / 3);
        for (int i = 0; i < near->lists_size(); i += step) {
          INFO(near->lists(i).DebugString());
          Program tuned(c.graph, target, record_of(choice, near->lists(i)));
          bool is_tuned = false;
          for (const v1::KernelChoice& now : tuned.lowered().choices()) is_tuned |= now.tuned();
          is_tuned ? ++taken : ++refused;
          CHECK(is_tuned == tuned.lowered().warnings().empty());
          if (!is_tuned) CHECK(asts(tuned.lowered()) == asts(plain.lowered()));
          changed += asts(tuned.lowered()) != asts(plain.lowered());
          tuned.check(c.feed, c.tolerance);
        }
      }
    }
  }
  CAPTURE(taken, changed, refused);
  CHECK(taken > 20);
  CHECK(changed > taken / 2);
  CHECK(refused < taken);
}

TEST_CASE("tuned: on a GPU, whatever form of a kernel a search tries computes what the graph says") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  int taken = 0, changed = 0;
  for (const v1::Target& target : {gpu_target(), workgroup_target(8), shared_tile_target(8)}) {
    for (TunedCase& c : cases()) {
      INFO(c.name);
      const Program plain(c.graph, target);
      for (const v1::KernelChoice& choice : plain.lowered().choices()) {
        v1::NeighboursSpec spec;
        *spec.mutable_kernel() = choice.flat();
        *spec.mutable_opts() = choice.opts();
        const auto near = compiler::neighbours(spec, target);
        INFO(near.status());
        REQUIRE(near.ok());
        const int step = std::max(1, near->lists_size() / 4);
        for (int i = 0; i < near->lists_size(); i += step) {
          INFO(near->lists(i).DebugString());
          Program tuned(c.graph, target, record_of(choice, near->lists(i)));
          CHECK(tuned.lowered().warnings().empty());
          ++taken;
          changed += asts(tuned.lowered()) != asts(plain.lowered());
          tuned.check(c.feed, c.tolerance);
        }
      }
    }
  }
  CAPTURE(taken, changed);
  CHECK(taken > 20);
  CHECK(changed > taken / 2);
}

TEST_CASE("tuned: opts of workgroups that would give wrong results, or none, are refused by the opt") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  const TunedCase c = product_of_inputs();  // 17 rows, 19 columns, sums of 9
  const v1::Target gpu = workgroup_target(8);
  const Program plain(c.graph, gpu);
  const v1::KernelChoice& choice = plain.lowered().choices(plain.lowered().choices_size() - 1);
  const auto opt = [](v1::Opt::Kind kind, std::uint32_t axis, std::int64_t amount) {
    v1::Opt made;
    made.set_kind(kind), made.set_axis(axis), made.set_amount(amount);
    return made;
  };
  const struct {
    std::vector<v1::Opt> opts;
    const char* why;
  } bad[] = {{{opt(v1::Opt::WORKGROUP, 0, 8)}, "no multiple of the workgroup"},
             {{opt(v1::Opt::PAD_TO, 0, 8), opt(v1::Opt::TILE, 0, 4), opt(v1::Opt::WORKGROUP, 0, 8)}, "no multiple"},
             {{opt(v1::Opt::PAD_TO, 0, 512), opt(v1::Opt::WORKGROUP, 0, 512)}, "at most 256 invocations"},
             {{opt(v1::Opt::PAD_TO, 0, 32), opt(v1::Opt::WORKGROUP, 0, 32), opt(v1::Opt::PAD_TO, 1, 32),
               opt(v1::Opt::WORKGROUP, 1, 32)},
              "at most 256 invocations"},
             {{opt(v1::Opt::SHARED, 0, 4)}, "is for reduced axes"}};
  for (const auto& b : bad) {
    v1::OptList list;
    for (const v1::Opt& o : b.opts) *list.add_opts() = o;
    INFO(list.DebugString());
    const Program tuned(c.graph, gpu, record_of(choice, list));
    REQUIRE(tuned.lowered().warnings_size() == 1);
    CHECK_THAT(tuned.lowered().warnings(0), Catch::Matchers::Contains(b.why));
    CHECK(asts(tuned.lowered()) == asts(plain.lowered()));
  }
  // And any of them on a processor.
  v1::OptList list;
  *list.add_opts() = opt(v1::Opt::PAD_TO, 0, 8), *list.add_opts() = opt(v1::Opt::WORKGROUP, 0, 8);
  const Program on_cpu(c.graph, host_target());
  const v1::KernelChoice& there = on_cpu.lowered().choices(on_cpu.lowered().choices_size() - 1);
  const Program tuned(c.graph, host_target(), record_of(there, list));
  REQUIRE(tuned.lowered().warnings_size() == 1);
  CHECK_THAT(tuned.lowered().warnings(0), Catch::Matchers::Contains("is for GPUs"));
}

TEST_CASE("tuned: a record that does not fit costs a warning, not the kernel") {
  const TunedCase c = dense();
  const Program plain(c.graph, host_target());
  const v1::KernelChoice& choice = plain.lowered().choices(plain.lowered().choices_size() - 1);
  struct Bad {
    const char* why;
    v1::Opt::Kind kind;
    std::uint32_t axis;
    std::int64_t amount;
  };
  for (const Bad& bad :
       {Bad{"no such axis", v1::Opt::UNROLL, 77, 4}, Bad{"no kind", v1::Opt::KIND_UNSPECIFIED, 0, 4},
        Bad{"kind of another version", static_cast<v1::Opt::Kind>(99), 0, 4}, Bad{"amount 0", v1::Opt::UNROLL, 0, 0},
        Bad{"negative amount", v1::Opt::LANES, 0, -8}, Bad{"huge amount", v1::Opt::UNROLL, 0, INT64_MAX},
        Bad{"no such param", v1::Opt::PACK, 9, 1}, Bad{"the result is not read", v1::Opt::PACK, 0, 1},
        Bad{"before itself", v1::Opt::BEFORE, 1, 1}, Bad{"before nothing", v1::Opt::BEFORE, 1, -1}}) {
    INFO(bad.why);
    v1::OptList list;
    v1::Opt& opt = *list.add_opts();
    opt.set_kind(bad.kind);
    opt.set_axis(bad.axis);
    opt.set_amount(bad.amount);
    const Program tuned(c.graph, host_target(), record_of(choice, list));
    REQUIRE(tuned.lowered().warnings_size() == 1);
    INFO(tuned.lowered().warnings(0));
    CHECK(tuned.lowered().warnings(0).find("left out") != std::string::npos);
    CHECK(asts(tuned.lowered()) == asts(plain.lowered()));
    CHECK(tuned.lowered().plan().SerializeAsString() == plain.lowered().plan().SerializeAsString());
  }
}

TEST_CASE("tuned: two axes as lanes of one value are refused before the kernel is compiled") {
  const TunedCase c = dense();
  const Program plain(c.graph, host_target());
  const v1::KernelChoice& choice = plain.lowered().choices(plain.lowered().choices_size() - 1);
  v1::OptList list;
  for (const std::uint32_t axis : {0, 1}) {
    v1::Opt& opt = *list.add_opts();
    opt.set_kind(v1::Opt::LANES);
    opt.set_axis(axis);
    opt.set_amount(4);
  }
  Program tuned(c.graph, host_target(), record_of(choice, list));
  CHECK(tuned.lowered().warnings_size() == 1);
  CHECK(asts(tuned.lowered()) == asts(plain.lowered()));
  tuned.check(c.feed, c.tolerance);
}

TEST_CASE("tuned: a record of one model is found by another one with the same kernel") {
  const TunedCase c = dense();
  const Program plain(c.graph, host_target());
  const v1::KernelChoice& choice = plain.lowered().choices(plain.lowered().choices_size() - 1);
  v1::OptList none;  // no opts at all: what the heuristic would never choose here
  REQUIRE(choice.opts_size() > 0);
  // Another kernel before it, and another name for everything.
  GraphBuilder b;
  const Node first = b.input(v1::I32, {4, 4});
  b.output(b.op(v1::MATMUL, {first, first}));
  const Node x = b.input(v1::I32, {13, 11}), w = b.parameter(v1::I32, {11, 21}), bias = b.input(v1::I32, {1, 21});
  const Node sum = b.op(v1::ADD, {b.op(v1::MATMUL, {x, w}), b.expand(bias, {13, 21})});
  b.output(b.op(v1::MAX, {sum, b.expand(b.reshape(b.fill(v1::I32, {}, {}), {1, 1}), {13, 21})}));
  Program other(b.graph(), host_target(), record_of(choice, none));
  int tuned = 0;
  for (const v1::KernelChoice& now : other.lowered().choices()) tuned += now.tuned();
  CHECK(tuned == 1);
  CHECK(other.lowered().warnings().empty());
  other.check({{ramp(Scalar::I32, {4, 4}), ramp(Scalar::I32, {13, 11}), ramp(Scalar::I32, {11, 21}, 2),
                ramp(Scalar::I32, {1, 21}, 3)},
               {}},
              Tolerance::exact());
}

}  // namespace hearth::conformance
