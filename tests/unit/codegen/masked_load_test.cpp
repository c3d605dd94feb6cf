// Loads whose lanes are on and off: what is off is not read.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <vector>

#include "tests/conformance/ops/guarded_block.h"
#include "tests/support/skip.h"
#include "tests/unit/codegen/kernel_runner.h"

namespace hearth::codegen {
namespace {

using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;

// The tail of a row at the very end of a buffer: of sixteen lanes three are in the row, and a condition of the row
// decides about all. On registers of eight lanes the second half is off for certain.
TEST_CASE("lanes of a tail that are off are not read, in vectors wider than registers, too") {
  if (!host_has_avx2()) {
    test::skip_part("this processor has no AVX2: nothing to run");
    return;
  }
  constexpr std::int64_t kTail = 3;
  conformance::GuardedBlock input(kTail * sizeof(float), alignof(float));
  const std::vector<float> row = {1, 2, 3};
  std::memcpy(input.data(), row.data(), input.size());
  for (std::uint32_t level : {0, 1, 2}) {
    for (std::uint32_t register_bits : {256, 512}) {
      ir::Graph g;
      Body body(g);
      UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
      UOpRef has_row = body.put(g.lt(body.var(0, 0, 10), body.i64(8)));
      std::vector<UOpRef> lanes, asked;
      for (std::int64_t lane = 0; lane < 16; ++lane) {
        lanes.push_back(body.i64(lane));
        asked.push_back(has_row);
      }
      const DType i64(Scalar::I64, 16);
      UOpRef lane = g.make(Op::Stack, i64, std::span<const UOpRef>(lanes));
      UOpRef rows = g.make(Op::Stack, DType(Scalar::Bool, 16), std::span<const UOpRef>(asked));
      UOpRef gate = body.put(g.logical_and(rows, g.lt(lane, g.constant(i64, kTail))));
      const DType type(Scalar::F32, 16);
      body.store(out, body.i64(0), body.load(in, body.i64(0), type, gate, body.put(g.constant(type, 7.0))));
      v1::Target target = avx2_target();
      target.set_vector_bits(register_bits);
      v1::CompileOptions options;
      options.set_opt_level(level);
      CAPTURE(level, register_bits);
      Loaded run(body.kernel(), target, options);
      std::vector<float> got(16, -1), expected(16, 7);
      run({got.data(), input.data()}, {9});
      CHECK(got == expected);
      std::ranges::copy(row, expected.begin());
      run({got.data(), input.data()}, {2});
      CHECK(got == expected);
    }
  }
}

}  // namespace
}  // namespace hearth::codegen
