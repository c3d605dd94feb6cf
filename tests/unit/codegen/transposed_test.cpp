// Blocks that are read or written by columns (transposed_blocks.h): every element lands where it belongs, and gathers
// and scatters are left alone where a block has few columns, is used both ways, or is no block of 32-bit elements.
#include <catch2/catch.hpp>
#include <numeric>

#include "compiler/codegen/llvm/codegen.h"
#include "tests/unit/codegen/kernel_runner.h"

namespace hearth::codegen {
namespace {

using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;

constexpr std::int64_t kStride = 37;

// Positions of `lanes` elements, kStride apart, from `corner`.
UOpRef column(Body& body, UOpRef corner, std::uint16_t lanes) {
  ir::Graph& g = body.g;
  std::vector<UOpRef> steps;
  for (int i = 0; i < lanes; ++i) steps.push_back(body.i64(i * kStride));
  const DType positions(Scalar::I64, lanes);
  UOpRef apart = g.make(Op::Stack, positions, std::span<const UOpRef>(steps));
  return body.put(g.add(g.make(Op::Broadcast, positions, {body.put(corner)}), apart));
}

// out[j][i] = in[i][first + j] for `lanes` rows i, kStride elements apart, and `columns` columns j.
passes::LinearKernel by_columns(ir::Graph& g, DType element, std::uint16_t lanes, int columns, bool in_place = false) {
  Body body(g);
  UOpRef out = body.param(0, element), in = in_place ? out : body.param(1, element);
  UOpRef first = body.open(body.i64(2));
  std::vector<UOpRef> values;
  for (int j = 0; j < columns; ++j) {
    UOpRef position = column(body, g.add(g.mul(first, body.i64(columns)), body.i64(j)), lanes);
    values.push_back(body.load(in, position, element.with_lanes(lanes)));
  }
  for (int j = 0; j < columns; ++j) {
    UOpRef row = g.add(g.mul(first, body.i64(columns)), body.i64(j));
    body.store(out, body.put(g.mul(row, body.i64(lanes))), values[static_cast<std::size_t>(j)]);
  }
  body.close(first);
  return body.kernel();
}

bool is_transposed(const passes::LinearKernel& kernel) {
  const auto text = emit_llvm_ir(kernel, widest_target(), default_options());
  REQUIRE(text.ok());
  // Gathered lanes are loaded one by one.
  return text->find("load <") != std::string::npos || text->find("@llvm.masked.load") != std::string::npos;
}

template <class T>
void check_transposed(DType element, std::uint16_t lanes, int columns, bool transposed) {
  ir::Graph g;
  const passes::LinearKernel kernel = by_columns(g, element, lanes, columns);
  INFO(to_string(element) << " x" << lanes << ", " << columns << " columns");
  CHECK(is_transposed(kernel) == transposed);
  // Exactly what is read: a row loaded too far runs out of the array, which ASan sees.
  const auto read = static_cast<std::size_t>((lanes - 1) * kStride + 2 * columns);
  std::vector<T> in(read), out(static_cast<std::size_t>(2 * columns) * lanes);
  std::iota(in.begin(), in.end(), T{1});
  Loaded run(kernel, widest_target());
  run({out.data(), in.data()});
  for (std::size_t j = 0; j < static_cast<std::size_t>(2 * columns); ++j) {
    for (std::size_t i = 0; i < lanes; ++i) {
      CHECK(out[j * lanes + i] == in[i * static_cast<std::size_t>(kStride) + j]);
    }
  }
}

TEST_CASE("blocks read by columns are transposed, whole or not") {
  for (const std::uint16_t lanes : {8, 16}) {
    for (int columns = 4; columns <= lanes; ++columns) check_transposed<float>(Scalar::F32, lanes, columns, true);
  }
  check_transposed<std::int32_t>(Scalar::I32, 8, 16, true);  // two blocks
}

TEST_CASE("other gathers stay gathers") {
  check_transposed<float>(Scalar::F32, 16, 3, false);
  check_transposed<float>(Scalar::F32, 4, 4, false);
  check_transposed<double>(Scalar::F64, 8, 8, false);
  ir::Graph g;
  CHECK(!is_transposed(by_columns(g, Scalar::F32, 8, 8, /*in_place=*/true)));
}

// out[i][first + j] = in[j][i] for `lanes` rows i, kStride elements apart, and `columns` columns j; in place: out is
// read, too.
passes::LinearKernel to_columns(ir::Graph& g, DType element, std::uint16_t lanes, int columns, bool in_place = false) {
  Body body(g);
  UOpRef out = body.param(0, element), in = in_place ? out : body.param(1, element);
  UOpRef first = body.open(body.i64(2));
  std::vector<UOpRef> values;
  for (int j = 0; j < columns; ++j) {
    UOpRef row = g.add(g.mul(first, body.i64(columns)), body.i64(j));
    values.push_back(body.load(in, body.put(g.mul(row, body.i64(lanes))), element.with_lanes(lanes)));
  }
  for (int j = columns; j-- > 0;) {  // in any order
    UOpRef position = column(body, g.add(g.mul(first, body.i64(columns)), body.i64(j)), lanes);
    body.store(out, position, values[static_cast<std::size_t>(j)]);
  }
  body.close(first);
  return body.kernel();
}

bool stores_lanes(const passes::LinearKernel& kernel) {
  const auto text = emit_llvm_ir(kernel, widest_target(), default_options());
  REQUIRE(text.ok());
  return text->find("extractelement") != std::string::npos;
}

template <class T>
void check_stores(DType element, std::uint16_t lanes, int columns, bool transposed) {
  ir::Graph g;
  const passes::LinearKernel kernel = to_columns(g, element, lanes, columns);
  INFO(to_string(element) << " x" << lanes << ", " << columns << " columns");
  CHECK(stores_lanes(kernel) != transposed);
  const auto wide = static_cast<std::size_t>(2 * columns);
  std::vector<T> in(wide * lanes), out((lanes - 1) * static_cast<std::size_t>(kStride) + wide, T{-1});
  std::iota(in.begin(), in.end(), T{1});
  Loaded run(kernel, widest_target());
  run({out.data(), in.data()});
  for (std::size_t at = 0; at < out.size(); ++at) {
    const std::size_t i = at / static_cast<std::size_t>(kStride), j = at % static_cast<std::size_t>(kStride);
    CHECK(out[at] == (j < wide ? in[j * lanes + i] : T{-1}));
  }
}

TEST_CASE("blocks written by columns are transposed, whole or not") {
  for (const std::uint16_t lanes : {4, 8, 16}) {
    for (const int columns : {2, 3, 4, 6, 8, 11, 16}) check_stores<float>(Scalar::F32, lanes, columns, true);
  }
  check_stores<std::int32_t>(Scalar::I32, 8, 6, true);
}

TEST_CASE("other scatters stay scatters") {
  check_stores<float>(Scalar::F32, 16, 1, false);
  check_stores<double>(Scalar::F64, 8, 6, false);
  ir::Graph g;
  CHECK(stores_lanes(to_columns(g, Scalar::F32, 8, 6, /*in_place=*/true)));
}

}  // namespace
}  // namespace hearth::codegen
