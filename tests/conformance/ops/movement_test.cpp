// Every movement op, alone and chained, on several element widths. All exact.
#include <catch2/catch.hpp>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using codegen::reference::Element;
using ir::Scalar;

const std::vector<Scalar> kWidths = {Scalar::F32, Scalar::I8, Scalar::Bool, Scalar::I64, Scalar::F16};

// One input of `shape`; `build` makes the outputs.
template <class F>
void check_moved(const Shape& shape, F build) {
  for (const Scalar dtype : kWidths) {
    INFO(ir::to_string(dtype));
    GraphBuilder b;
    build(b, b.input(wire(dtype), Dims(shape.begin(), shape.end())));
    Program(b.graph()).check({{ramp(dtype, shape)}, {}}, Tolerance::exact());
  }
}

TEST_CASE("reshape") {
  check_moved({4, 6}, [](GraphBuilder& b, Node x) {
    b.output(b.reshape(x, {24}));
    b.output(b.reshape(x, {3, 8}));
    b.output(b.reshape(b.permute(x, {1, 0}), {3, 8}));
    b.output(b.reshape(x, {1, 2, 2, 1, 6}));
  });
  check_moved({1}, [](GraphBuilder& b, Node x) { b.output(b.reshape(x, {})); });
  check_moved({}, [](GraphBuilder& b, Node x) { b.output(b.reshape(x, {1, 1})); });
  check_moved({0, 3}, [](GraphBuilder& b, Node x) { b.output(b.reshape(x, {5, 0})); });
}

TEST_CASE("expand") {
  check_moved({3, 1, 5}, [](GraphBuilder& b, Node x) { b.output(b.expand(x, {3, 4, 5})); });
  check_moved({1, 7}, [](GraphBuilder& b, Node x) { b.output(b.expand(x, {3, 7})); });
  check_moved({3, 1}, [](GraphBuilder& b, Node x) { b.output(b.expand(x, {3, 0})); });
  check_moved({}, [](GraphBuilder& b, Node x) { b.output(b.expand(b.reshape(x, {1, 1}), {3, 5})); });
}

TEST_CASE("permute and flip") {
  check_moved({2, 3, 5}, [](GraphBuilder& b, Node x) {
    b.output(b.permute(x, {2, 0, 1}));
    b.output(b.permute(x, {0, 2, 1}));
    b.output(b.permute(b.permute(x, {1, 2, 0}), {2, 0, 1}));
    b.output(b.flip(x, {2}));
    b.output(b.flip(x, {0, 1, 2}));
    b.output(b.flip(b.permute(x, {2, 1, 0}), {0}));
  });
  check_moved({}, [](GraphBuilder& b, Node x) { b.output(b.permute(x, {})); });
}

TEST_CASE("shrink, and negative steps by flip") {
  check_moved({5, 9}, [](GraphBuilder& b, Node x) {
    b.output(b.shrink(x, {1, 4, 2, 9}));
    b.output(b.shrink(x, {0, 5, 3, 3}));
    b.output(b.flip(b.shrink(x, {0, 5, 1, 8}), {1}));
    // Every second element of a row, backwards: flip, then windows of one with step 2.
    b.output(b.reshape(b.unfold(b.flip(x, {1}), 1, 1, 2, 1), {5, 5}));
  });
}

TEST_CASE("pad") {
  check_moved({3, 4}, [](GraphBuilder& b, Node x) {
    b.output(b.pad(x, {1, 2, 0, 3}, {1, 1.0}));
    b.output(b.pad(x, {0, 0, 0, 0}));
    b.output(b.flip(b.pad(x, {2, 0, 1, 0}, {1, 1.0}), {0, 1}));
    b.output(b.pad(b.pad(x, {1, 1, 1, 1}, {1, 1.0}), {1, 0, 0, 1}, {0, 0.0}));
    b.output(b.shrink(b.pad(x, {2, 2, 2, 2}, {1, 1.0}), {1, 6, 1, 7}));
  });
  check_moved({0}, [](GraphBuilder& b, Node x) { b.output(b.pad(x, {2, 1}, {1, 1.0})); });
}

TEST_CASE("unfold") {
  check_moved({2, 11}, [](GraphBuilder& b, Node x) {
    b.output(b.unfold(x, 1, 3, 1, 1));
    b.output(b.unfold(x, 1, 3, 2, 2));
    b.output(b.unfold(x, 1, 11, 1, 1));
    b.output(b.unfold(x, 0, 1, 1, 1));
    b.output(b.unfold(b.unfold(b.pad(x, {1, 1, 1, 1}), 0, 3, 1, 1), 1, 3, 2, 1));
  });
}

TEST_CASE("cat") {
  check_moved({2, 3}, [](GraphBuilder& b, Node x) {
    b.output(b.cat({x, x}, 0));
    b.output(b.cat({x, b.flip(x, {1}), b.shrink(x, {0, 2, 1, 2})}, 1));
    b.output(b.cat({x}, 1));
    b.output(b.cat({b.shrink(x, {0, 2, 0, 0}), x}, 1));
    b.output(b.flip(b.cat({x, b.permute(b.reshape(x, {3, 2}), {1, 0})}, 1), {1}));
  });
}

TEST_CASE("contiguous is the identity") {
  check_moved({3, 5}, [](GraphBuilder& b, Node x) {
    const Node stored = b.op(v1::CONTIGUOUS, {b.permute(x, {1, 0})});
    b.output(stored);
    b.output(b.reshape(stored, {15}));
    b.output(x);
  });
}

TEST_CASE("rows that are concatenated, and pads along two loops outside of the vectors") {
  check_moved({4, 5, 33}, [](GraphBuilder& b, Node x) {
    std::vector<Node> rows;
    for (const std::int64_t row : {3, 0, 4, 1, 2})
      rows.push_back(b.shrink(row % 2 ? b.op(v1::CONTIGUOUS, {b.flip(x, {0})}) : x, {0, 4, row, row + 1, 0, 33}));
    b.output(b.cat({rows[0], x, rows[1], rows[2], b.flip(x, {1}), rows[3], rows[4]}, 1));
    b.output(b.pad(x, {1, 2, 3, 1, 0, 0}));
    b.output(b.pad(b.cat({x, b.flip(x, {2})}, 1), {0, 1, 2, 2, 0, 3}));
  });
}

TEST_CASE("gather with indices at and beyond the edges") {
  for (const Scalar dtype : kWidths) {
    for (const Scalar index : {Scalar::I64, Scalar::I32, Scalar::I8, Scalar::U8, Scalar::U64}) {
      INFO(ir::to_string(dtype) << " by " << ir::to_string(index));
      const HostTensor data = ramp(dtype, {3, 5, 2});
      const bool is_signed = ir::is_signed_int(index);
      const HostTensor indices = is_signed ? HostTensor::from_values(index, {2, 3}, {-1, -5, -6, 100, 4, 0})
                                           : HostTensor::from_values(index, {2, 3}, {0, 4, 5, 100, 2, 1});
      GraphBuilder b;
      const Node x = b.input(wire(dtype), {3, 5, 2});
      const Node i = b.input(wire(index), {2, 3});
      for (const std::int64_t axis : {0, 1, 2}) b.output(b.gather(x, i, axis));
      b.output(b.gather(x, b.reshape(b.shrink(i, {0, 1, 1, 2}), {}), 1));
      b.output(b.gather(b.op(v1::CONTIGUOUS, {b.flip(x, {1})}), b.op(v1::ADD, {i, i}), 1));
      Program(b.graph()).check({{data, indices}, {}}, Tolerance::exact());
    }
  }
}

TEST_CASE("gather with no indices, or from an empty axis, touches nothing") {
  GraphBuilder b;
  const Node x = b.input(v1::F32, {4, 3});
  const Node none = b.input(v1::I64, {0});
  b.output(b.gather(x, none, 0));
  Program(b.graph()).check({{ramp(Scalar::F32, {4, 3}), HostTensor(Scalar::I64, {0})}, {}}, Tolerance::exact());

  GraphBuilder empty;
  const Node e = empty.input(v1::F32, {0, 3});
  const Node i = empty.input(v1::I64, {2});
  empty.output(empty.gather(e, i, 0));
  Program program(empty.graph());
  const Feed feed{{HostTensor(Scalar::F32, {0, 3}), HostTensor(Scalar::I64, {2})}, {}};
  // No right answer exists.
  absl::StatusOr<Tensors> result = program.run(feed, Program::Execution::Linear);
  CHECK(result.status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hearth::conformance
