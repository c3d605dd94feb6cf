// The innermost loop of a tile: gated scalars without branches (codegen/llvm/emit_memory.cpp), unrolling by the number
// of registers (codegen/llvm/emitter.cpp).
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/codegen.h"
#include "tests/support/x86_target.h"
#include "tests/unit/codegen/kernel_runner.h"

namespace hearth::codegen {
namespace {

using ir::DType;
using ir::Op;
using ir::RangeKind;
using ir::ReduceKind;
using ir::Scalar;
using ir::UOpRef;

constexpr std::uint16_t kLanes = 8;
constexpr std::int64_t kPadding = 4;
const DType kTileVector(Scalar::F32, kLanes);

std::string llvm_ir(const passes::LinearKernel& kernel, const v1::Target& target) {
  const auto text = emit_llvm_ir(kernel, target, default_options());
  INFO(text.status().ToString());
  REQUIRE(text.ok());
  return *text;
}

bool has(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

// out[0:8] = sum over k of x[k] * w[k, 0:8], where x is `count` elements with kPadding zeros on both sides; and
// also[0] = the sum of x itself when `is_read_alone`.
passes::LinearKernel padded_product(ir::Graph& g, std::int64_t count, bool is_read_alone = false) {
  Body body(g);
  UOpRef out = body.param(0, Scalar::F32), x = body.param(1, Scalar::F32), w = body.param(2, Scalar::F32);
  UOpRef also = is_read_alone ? body.param(3, Scalar::F32) : nullptr;
  UOpRef acc = body.acc(body.put(g.constant(kTileVector, 0.0)));
  UOpRef alone = is_read_alone ? body.acc(body.put(g.constant(Scalar::F32, 0.0))) : nullptr;
  UOpRef k = body.open(body.i64(count + 2 * kPadding), RangeKind::Reduce);
  UOpRef begins = body.put(g.make(Op::Lt, Scalar::Bool, {body.put(body.i64(kPadding - 1)), k}));
  UOpRef ends = body.put(g.make(Op::Lt, Scalar::Bool, {k, body.put(body.i64(count + kPadding))}));
  UOpRef gate = body.put(g.make(Op::And, Scalar::Bool, {begins, ends}));
  UOpRef element = body.load(x, body.put(g.add(k, body.i64(-kPadding))), Scalar::F32, gate);
  UOpRef weights = body.load(w, body.put(g.mul(k, body.i64(kLanes))), kTileVector);
  UOpRef vector = body.put(g.make(Op::Broadcast, kTileVector, {element}));
  body.update(acc, body.put(g.mul(vector, weights)), ReduceKind::Sum);
  if (is_read_alone) body.update(alone, element, ReduceKind::Sum);
  UOpRef end = body.close(k);
  body.store(out, body.i64(0), body.result(acc, end));
  if (is_read_alone) body.store(also, body.i64(0), body.result(alone, end));
  return body.kernel();
}

// Sums of `sums` streams of vectors over `iterations`.
passes::LinearKernel tile(ir::Graph& g, int sums, std::int64_t iterations) {
  Body body(g);
  UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
  std::vector<UOpRef> accs;
  for (int i = 0; i < sums; ++i) accs.push_back(body.acc(body.put(g.constant(kTileVector, 0.0))));
  UOpRef k = body.open(body.i64(iterations), RangeKind::Reduce);
  for (int i = 0; i < sums; ++i) {
    UOpRef at = body.put(g.add(g.mul(k, body.i64(kLanes)), body.i64(i * iterations * kLanes)));
    body.update(accs[static_cast<std::size_t>(i)], body.load(in, at, kTileVector), ReduceKind::Sum);
  }
  UOpRef end = body.close(k);
  for (int i = 0; i < sums; ++i) {
    body.store(out, body.i64(i * kLanes), body.result(accs[static_cast<std::size_t>(i)], end));
  }
  return body.kernel();
}

TEST_CASE("a gated scalar that vectors are made of is loaded from a chosen address, others behind a branch") {
  ir::Graph g;
  CHECK_FALSE(has(llvm_ir(padded_product(g, 64), host_target()), "\nloaded"));
  CHECK(has(llvm_ir(padded_product(g, 64, /*is_read_alone=*/true), host_target()), "\nloaded"));
}

TEST_CASE("beyond its gate a scalar is zero, and no memory is touched") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<char*>(mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(mprotect(pages + page, page, PROT_READ | PROT_WRITE) == 0);
  auto* x = reinterpret_cast<float*>(pages + page);
  const auto count = static_cast<std::int64_t>(page / sizeof(float));
  for (std::int64_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 5 - 2);
  std::vector<float> w(static_cast<std::size_t>((count + 2 * kPadding) * kLanes)), out(kLanes, -1);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7);
  ir::Graph g;
  for (const v1::Target& target : {host_target(), baseline_target()}) {
    Loaded(padded_product(g, count), target)({out.data(), x, w.data()});
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      double expected = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        expected += x[i] * w[static_cast<std::size_t>(i + kPadding) * kLanes + lane];
      }
      CHECK(out[lane] == expected);  // small integers: exact
    }
  }
  munmap(pages, 3 * page);
}

// out[8 * i + lane] = in[i - 1] where 8 <= 8 * i + lane < 19, else 0, for i < 4: the lanes of a vector read one
// element.
passes::LinearKernel shared_elements(ir::Graph& g) {
  const DType index(Scalar::I64, kLanes);
  Body body(g);
  UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
  UOpRef i = body.open(body.i64(4));
  UOpRef base = body.put(g.mul(i, body.i64(kLanes)));
  std::vector<UOpRef> each;
  for (std::uint16_t lane = 0; lane < kLanes; ++lane) each.push_back(g.add(base, body.i64(lane)));
  UOpRef at = g.make(Op::Stack, index, std::span<const UOpRef>(each));
  UOpRef gate = body.put(g.logical_and(g.le(g.constant(index, 8), at), g.lt(at, g.constant(index, 19))));
  UOpRef position = body.put(g.make(Op::Broadcast, index, {body.put(g.sub(i, body.i64(1)))}));
  body.store(out, base, body.load(in, position, kTileVector, gate));
  body.close(i);
  return body.kernel();
}

TEST_CASE("an element that some lanes of a vector read is read once, and where no lane does no memory is touched") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<char*>(mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(mprotect(pages, page, PROT_READ | PROT_WRITE) == 0);
  auto* in = reinterpret_cast<float*>(pages + page) - 2;  // the third element lies behind the end
  in[0] = 5, in[1] = 7;
  ir::Graph g;
  for (const v1::Target& target : {host_target(), baseline_target()}) {
    CHECK_FALSE(has(llvm_ir(shared_elements(g), target), "masked.gather"));
    std::vector<float> out(4 * kLanes, -1);
    Loaded(shared_elements(g), target)({out.data(), in});
    for (std::size_t k = 0; k < out.size(); ++k) {
      INFO("element " << k);
      CHECK(out[k] == (k < 8 || k >= 19 ? 0 : k < 16 ? 5 : 7));
    }
  }
  munmap(pages, 2 * page);
}

TEST_CASE("a short loop of a tile is unrolled where there are 32 registers, no loop of one where there are 16") {
  ir::Graph g;
  const v1::Target wide = test::x86_target(512), narrow = test::x86_target(256);
  constexpr const char *kFull = "llvm.loop.unroll.full", *kDisable = "llvm.loop.unroll.disable";
  CHECK(has(llvm_ir(tile(g, 8, 4), wide), kFull));
  CHECK_FALSE(has(llvm_ir(tile(g, 8, 5), wide), "llvm.loop"));
  CHECK_FALSE(has(llvm_ir(tile(g, 7, 4), wide), "llvm.loop"));
  CHECK(has(llvm_ir(tile(g, 8, 4), narrow), kDisable));
  CHECK(has(llvm_ir(tile(g, 8, 500), narrow), kDisable));
  CHECK_FALSE(has(llvm_ir(tile(g, 7, 4), narrow), "llvm.loop"));
}

}  // namespace
}  // namespace hearth::codegen
