// What is fetched ahead (codegen/llvm/prefetch.cpp): streams and jumps of a reduction, each line once, and the rows of
// a kernel that keeps one; nothing that stays in L1 or that the hardware foresees.
#include <catch2/catch.hpp>
#include <regex>
#include <string_view>

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

const DType kVector(Scalar::F32, 8);

int count(std::string_view text, std::string_view what) {
  int found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// Calls of the intrinsic by its operands: `locality` 3 is L1, 2 is L2; `to_write` 1 or 0.
int prefetches(const passes::LinearKernel& kernel, int locality, int to_write = 0,
               const v1::Target& target = host_target()) {
  const auto text = emit_llvm_ir(kernel, target, default_options());
  INFO(text.status().ToString());
  REQUIRE(text.ok());
  return count(*text, "i32 " + std::to_string(to_write) + ", i32 " + std::to_string(locality) + ", i32 1)");
}

// The sum of `vectors` vectors an iteration, `iterations` times, `step` elements apart.
passes::LinearKernel stream(ir::Graph& g, std::int64_t iterations, std::int64_t step, int vectors) {
  Body body(g);
  UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
  UOpRef acc = body.acc(body.put(g.constant(kVector, 0.0)));
  UOpRef k = body.open(body.i64(iterations), RangeKind::Reduce);
  for (int v = 0; v < vectors; ++v) {
    UOpRef position = body.put(g.add(g.mul(k, body.i64(step)), body.i64(v * 8)));
    body.update(acc, body.load(in, position, kVector), ReduceKind::Sum);
  }
  body.store(out, body.i64(0), body.result(acc, body.close(k)));
  return body.kernel();
}

// `rows` neighbouring sums over 64 channels of 32 x 40 elements and a window of 3 x 3.
passes::LinearKernel window(ir::Graph& g, int rows) {
  Body body(g);
  UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
  std::vector<UOpRef> accs;
  for (int r = 0; r < rows; ++r) accs.push_back(body.acc(body.put(g.constant(Scalar::F32, 0.0))));
  UOpRef c = body.open(body.i64(64), RangeKind::Reduce), y = body.open(body.i64(3), RangeKind::Reduce);
  UOpRef x = body.open(body.i64(3), RangeKind::Reduce);
  UOpRef corner = g.add(g.add(g.mul(c, body.i64(32 * 40)), g.mul(y, body.i64(40))), x);
  for (int r = 0; r < rows; ++r) {
    UOpRef position = body.put(g.add(corner, body.i64(r)));
    body.update(accs[static_cast<std::size_t>(r)], body.load(in, position, Scalar::F32), ReduceKind::Sum);
  }
  body.close(x), body.close(y);
  UOpRef end = body.close(c);
  for (int r = 0; r < rows; ++r) body.store(out, body.i64(r), body.result(accs[static_cast<std::size_t>(r)], end));
  return body.kernel();
}

TEST_CASE("a stream that is reduced is fetched ahead, each line once") {
  ir::Graph g;
  CHECK(prefetches(stream(g, 4096, 32, 4), 3) == 2);  // four vectors of 32 bytes are two lines
  CHECK(prefetches(stream(g, 4096, 8, 1), 3) == 1);
  CHECK(prefetches(stream(g, 100, 8, 1), 3) == 0);   // 3 KiB
  CHECK(prefetches(stream(g, 9000, 1, 1), 3) == 0);  // overlapping vectors
}

TEST_CASE("the next channel of a window is fetched, once for a line of neighbours") {
  ir::Graph g;
  CHECK(prefetches(window(g, 6), 3) == 1);
  CHECK(prefetches(window(g, 17), 3) == 2);
}

TEST_CASE("how far ahead: eight iterations of a stream, one channel of nine") {
  ir::Graph g;
  for (const auto& [kernel, elements] : {std::pair(stream(g, 4096, 32, 4), 256), {window(g, 1), 32 * 40}}) {
    const auto text = emit_llvm_ir(kernel, host_target(), default_options());
    REQUIRE(text.ok());
    CHECK(std::regex_search(*text, std::regex("add [a-z ]*i64 %[^\n]*, " + std::to_string(elements) + "\n")));
  }
}

TEST_CASE("what is fetched ahead changes no result and reads nothing behind the end") {
  ir::Graph g;
  const passes::LinearKernel kernel = stream(g, 2048, 8, 1);
  REQUIRE(prefetches(kernel, 3) == 1);
  std::vector<float> in(std::size_t{2048} * 8), out(8);  // whole: ASan sees a read behind it
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 7);
  Loaded run(kernel, host_target());
  run({out.data(), in.data()});
  for (std::size_t lane = 0; lane < 8; ++lane) {
    float sum = 0;
    for (std::size_t i = lane; i < in.size(); i += 8) sum += in[i];
    CHECK(out[lane] == sum);  // small whole numbers: exact
  }
}

constexpr std::int64_t kRow = 4096;

// Rows less their greatest element, kept in an allocation `unroll` vectors an iteration and then written one by one.
passes::LinearKernel keeps_rows(ir::Graph& g, std::int64_t rows, int unroll) {
  Body body(g);
  UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
  UOpRef kept = body.put(g.make(Op::Allocate, Scalar::F32, {}, ir::AllocationInfo{.elements = kRow}));
  UOpRef row = body.open(body.i64(rows), RangeKind::Grid);
  UOpRef base = body.put(g.mul(row, body.i64(kRow)));
  UOpRef acc = body.acc(body.put(g.constant(kVector, 0.0)));
  UOpRef k = body.open(body.i64(kRow / 8), RangeKind::Reduce);
  body.update(acc, body.load(in, body.put(g.add(base, g.mul(k, body.i64(8)))), kVector), ReduceKind::Max);
  UOpRef most = body.result(acc, body.close(k));
  UOpRef i = body.open(body.i64(kRow / 8 / unroll));
  for (int u = 0; u < unroll; ++u) {
    UOpRef at = body.put(g.add(g.mul(i, body.i64(std::int64_t{8} * unroll)), body.i64(u * 8)));
    UOpRef shifted = body.put(g.sub(body.load(in, body.put(g.add(base, at)), kVector), most));
    body.store(kept, at, shifted);
  }
  body.close(i);
  UOpRef j = body.open(body.i64(kRow / 8));
  UOpRef to = body.put(g.mul(j, body.i64(8)));
  body.store(out, body.put(g.add(base, to)), body.load(kept, to, kVector));
  body.close(j), body.close(row);
  return body.kernel();
}

bool streams(const passes::LinearKernel& kernel, const v1::Target& target = host_target()) {
  const auto text = emit_llvm_ir(kernel, target, default_options());
  REQUIRE(text.ok());
  return text->find("!nontemporal") != std::string::npos;
}

TEST_CASE("a kernel that keeps a row fetches a later one into L2, and no stream besides") {
  ir::Graph g;
  CHECK(prefetches(keeps_rows(g, 64, 1), 2) == 1);
  CHECK(prefetches(keeps_rows(g, 64, 4), 2) == 2);  // four vectors of 32 bytes are two lines
  CHECK(prefetches(keeps_rows(g, 64, 1), 3) == 0);
}

TEST_CASE("the row that is written after one is kept is fetched while that is computed, instead of streamed") {
  ir::Graph g;
  const auto to_write = [&](std::int64_t rows, int unroll) { return prefetches(keeps_rows(g, rows, unroll), 2, 1); };
  CHECK(to_write(64, 1) == 0);  // 1 MiB: stays in L2
  CHECK(to_write(65, 1) == 1);
  CHECK(to_write(65, 4) == 2);   // a line each of four iterations of 32 bytes
  CHECK(to_write(65, 16) == 0);  // more than eight iterations in one
  CHECK_FALSE(streams(keeps_rows(g, 2048, 4)));
  CHECK(streams(keeps_rows(g, 2048, 16)));
}

TEST_CASE("AMD's cores foresee streams of vectors, not the next channel of a window") {
  v1::Target amd = test::x86_target(256);
  amd.add_features("sse4a");
  ir::Graph g;
  CHECK(prefetches(stream(g, 4096, 32, 4), 3, 0, test::x86_target(256)) == 2);
  CHECK(prefetches(stream(g, 4096, 32, 4), 3, 0, amd) == 0);
  CHECK(prefetches(window(g, 1), 3, 0, amd) == prefetches(window(g, 1), 3, 0, test::x86_target(256)));
  CHECK(prefetches(window(g, 1), 3, 0, amd) > 0);
}

TEST_CASE("AMD's cores stream rows that are kept, and results from 16 MiB on") {
  v1::Target amd = test::x86_target(256);
  amd.add_features("sse4a");
  ir::Graph g;
  CHECK(streams(keeps_rows(g, 1024, 4), amd));
  CHECK_FALSE(streams(keeps_rows(g, 1023, 4), amd));
  for (const std::int64_t rows : {65, 1023, 2048}) CHECK(prefetches(keeps_rows(g, rows, 4), 2, 1, amd) == 0);
  CHECK(streams(keeps_rows(g, 2048, 16), test::x86_target(256)));
  CHECK_FALSE(streams(keeps_rows(g, 2047, 16), test::x86_target(256)));
}

TEST_CASE("a row that is written to no buffer of the kernel is an error, not a crash") {
  ir::Graph g;
  passes::LinearKernel kernel = keeps_rows(g, 65, 1);
  std::erase_if(kernel.body, [](UOpRef x) { return x->is(Op::Param) && x->as<ir::ParamInfo>().slot == 0; });
  CHECK(compile_cpu(kernel, host_target(), default_options()).status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("rows come out right whatever is fetched") {
  ir::Graph g;
  constexpr std::int64_t kRows = 65;
  const passes::LinearKernel kernel = keeps_rows(g, kRows, 4);
  std::vector<float> in(std::size_t{kRows} * kRow), out(in.size());
  for (std::size_t at = 0; at < in.size(); ++at) in[at] = static_cast<float>(at * 37 % 1001);
  Loaded run(kernel, host_target());
  run({out.data(), in.data()}, {}, 0, kRows);
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < std::size_t{kRows}; ++row) {
    for (std::size_t lane = 0; lane < 8; ++lane) {
      float most = 0;
      for (std::size_t i = lane; i < std::size_t{kRow}; i += 8) most = std::max(most, in[row * kRow + i]);
      for (std::size_t i = lane; i < std::size_t{kRow}; i += 8)
        wrong += out[row * kRow + i] != in[row * kRow + i] - most;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace hearth::codegen
