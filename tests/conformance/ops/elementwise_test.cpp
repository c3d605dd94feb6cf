// Every elementwise wire op on every dtype it takes, over the dtype's edge values.
#include <catch2/catch.hpp>
#include <cfloat>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

void check_unary(v1::Op op, Scalar dtype, Tolerance tolerance) {
  INFO(v1::Op_Name(op) << " " << ir::to_string(dtype));
  const HostTensor x = edges(dtype);
  GraphBuilder b;
  b.output(b.op(op, {b.input(wire(dtype), {x.shape[0]})}));
  Program(b.graph()).check({{x}, {}}, tolerance);
}

std::vector<Scalar> joined(std::vector<Scalar> a, const std::vector<Scalar>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// All pairs of edge values: x[i] op y[(i + j) % n] for several j.
void check_binary(v1::Op op, Scalar dtype, Tolerance tolerance) {
  INFO(v1::Op_Name(op) << " " << ir::to_string(dtype));
  const std::int64_t n = edges(dtype).num_elements();
  HostTensor x(dtype, {n * n}), y(dtype, {n * n});
  for (std::int64_t j = 0; j < n; ++j) {
    const HostTensor left = edges(dtype), right = edges(dtype, j);
    for (std::int64_t i = 0; i < n; ++i) {
      x.set(j * n + i, left.get(i));
      y.set(j * n + i, right.get(i));
    }
  }
  GraphBuilder b;
  const Node in0 = b.input(wire(dtype), {n * n});
  const Node in1 = b.input(wire(dtype), {n * n});
  b.output(b.op(op, {in0, in1}));
  Program(b.graph()).check({{x, y}, {}}, tolerance);
}

// Values below the dtype's normal range may be flushed by approximations.
double least_normal(Scalar dtype) {
  return dtype == Scalar::F16 ? 0x1p-14 : dtype == Scalar::F64 ? DBL_MIN : static_cast<double>(FLT_MIN);
}

TEST_CASE("float unary ops, correctly rounded") {
  for (const Scalar dtype : joined(kFloats, kFp8)) {
    for (const v1::Op op : {v1::NEG, v1::RECIP, v1::SQRT, v1::ABS, v1::FLOOR, v1::CEIL, v1::ROUND, v1::TRUNC}) {
      check_unary(op, dtype, Tolerance::exact());
    }
  }
}

TEST_CASE("float unary ops, approximated within a few steps") {
  for (const Scalar dtype : kFloats) {
    const double steps = dtype == Scalar::F64 ? 64 : 8;
    for (const v1::Op op : {v1::EXP, v1::EXP2, v1::LOG, v1::LOG2, v1::TANH, v1::ERF, v1::SIGMOID}) {
      check_unary(op, dtype, {steps * epsilon(dtype), least_normal(dtype)});
    }
    for (const v1::Op op : {v1::SIN, v1::COS}) {
      check_unary(op, dtype, {steps * epsilon(dtype), steps * epsilon(dtype)});
    }
  }
}

TEST_CASE("float unary ops in fp8: an approximation in f32 ends in the same or the next value") {
  for (const Scalar dtype : kFp8) {
    for (const v1::Op op : {v1::EXP, v1::EXP2, v1::LOG, v1::LOG2, v1::TANH, v1::ERF, v1::SIGMOID, v1::SIN, v1::COS}) {
      check_unary(op, dtype, {epsilon(dtype), 0});
    }
  }
}

TEST_CASE("float binary ops and comparisons") {
  for (const Scalar dtype : joined(kFloats, kFp8)) {
    for (const v1::Op op : {v1::ADD, v1::SUB, v1::MUL, v1::DIV, v1::MAX, v1::MIN, v1::LT, v1::LE, v1::EQ, v1::NE}) {
      check_binary(op, dtype, Tolerance::exact());
    }
  }
}

TEST_CASE("pow") {
  for (const Scalar dtype : kFloats) {
    INFO(ir::to_string(dtype));
    const std::vector<double> bases = {0, -0.0, 1, 2, 0.5, 3, -2, -1, 10, 1.5, 0.1, 2, 4, -3, INFINITY, 7};
    const std::vector<double> powers = {2, 3, 100, 0.5, -1, 0, 3, 2, -2, 2.5, 0, INFINITY, 0.5, -1, 2, 1};
    const HostTensor x = HostTensor::from_values(dtype, {16}, bases), y = HostTensor::from_values(dtype, {16}, powers);
    GraphBuilder b;
    const Node in0 = b.input(wire(dtype), {16});
    const Node in1 = b.input(wire(dtype), {16});
    b.output(b.op(v1::POW, {in0, in1}));
    Program(b.graph()).check({{x, y}, {}}, {64 * epsilon(dtype), least_normal(dtype)});
  }
}

TEST_CASE("integer ops wrap, divide and shift by the rules") {
  for (const Scalar dtype : kIntegers) {
    for (const v1::Op op : {v1::NEG, v1::ABS, v1::NOT}) check_unary(op, dtype, Tolerance::exact());
    for (const v1::Op op : {v1::ADD, v1::SUB, v1::MUL, v1::TRUNCDIV, v1::TRUNCMOD, v1::FLOORDIV, v1::FLOORMOD, v1::MAX,
                            v1::MIN, v1::AND, v1::OR, v1::XOR, v1::SHL, v1::SHR, v1::LT, v1::LE, v1::EQ, v1::NE}) {
      check_binary(op, dtype, Tolerance::exact());
    }
  }
}

TEST_CASE("division and modulo by constants") {
  for (const Scalar dtype : kIntegers) {
    const HostTensor x = edges(dtype);
    for (const std::int64_t divisor : {1, 2, 3, 7, 8, 100, 0, -1, -3}) {
      if (divisor < 0 && ir::is_unsigned_int(dtype)) continue;
      INFO(ir::to_string(dtype) << " by " << divisor);
      GraphBuilder b;
      const Node in = b.input(wire(dtype), {x.shape[0]});
      const Node by = b.fill(wire(dtype), codegen::reference::Element::of_int(divisor), {x.shape[0]});
      for (const v1::Op op : {v1::TRUNCDIV, v1::TRUNCMOD, v1::FLOORDIV, v1::FLOORMOD}) b.output(b.op(op, {in, by}));
      Program(b.graph()).check({{x}, {}}, Tolerance::exact());
    }
  }
}

TEST_CASE("bool ops") {
  check_unary(v1::NOT, Scalar::Bool, Tolerance::exact());
  for (const v1::Op op : {v1::AND, v1::OR, v1::XOR, v1::MAX, v1::MIN, v1::EQ, v1::NE, v1::LT, v1::LE}) {
    check_binary(op, Scalar::Bool, Tolerance::exact());
  }
}

TEST_CASE("casts between all dtypes saturate, wrap and round by the rules") {
  std::vector<Scalar> all = {Scalar::Bool};
  all.insert(all.end(), kIntegers.begin(), kIntegers.end());
  all = joined(joined(all, kFloats), kFp8);
  for (const Scalar from : all) {
    INFO("from " << ir::to_string(from));
    const HostTensor x = edges(from);
    GraphBuilder b;
    const Node in = b.input(wire(from), {x.shape[0]});
    for (const Scalar to : all) {
      if (to != from) b.output(b.cast(in, wire(to)));
    }
    Program(b.graph()).check({{x}, {}}, Tolerance::exact());
  }
}

TEST_CASE("float to integer casts at the limits") {
  const std::vector<double> limits = {127.9,  -128.9,       255.9,         256,          32768,        -32769,
                                      65536,  2147483648.0, -2147483649.0, 4294967296.0, 0x1p63,       -0x1p63,
                                      0x1p64, 1e30,         -1e30,         -0.9,         0x1.fffffep30};
  for (const Scalar from : {Scalar::F32, Scalar::F64}) {
    const HostTensor x = HostTensor::from_values(from, {17}, limits);
    GraphBuilder b;
    const Node in = b.input(wire(from), {17});
    for (const Scalar to : kIntegers) b.output(b.cast(in, wire(to)));
    Program(b.graph()).check({{x}, {}}, Tolerance::exact());
  }
}

TEST_CASE("bitcasts") {
  const std::pair<Scalar, Scalar> pairs[] = {{Scalar::F32, Scalar::I32},   {Scalar::F64, Scalar::U64},
                                             {Scalar::F16, Scalar::I16},   {Scalar::BF16, Scalar::U16},
                                             {Scalar::I8, Scalar::U8},     {Scalar::F16, Scalar::BF16},
                                             {Scalar::U8, Scalar::F8E4M3}, {Scalar::F8E5M2, Scalar::F8E4M3}};
  for (const auto& [one, other] : pairs) {
    for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
      INFO(ir::to_string(from) << " to " << ir::to_string(to));
      const HostTensor x = ramp(from, {13});
      GraphBuilder b;
      b.output(b.bitcast(b.input(wire(from), {13}), wire(to)));
      Program(b.graph()).check({{x}, {}}, Tolerance::exact());
    }
  }
}

TEST_CASE("where chooses, whatever the other side holds") {
  std::vector<Scalar> all = {Scalar::Bool, Scalar::I8, Scalar::U64, Scalar::F16, Scalar::F32, Scalar::F8E5M2};
  for (const Scalar dtype : all) {
    INFO(ir::to_string(dtype));
    const HostTensor x = edges(dtype), y = edges(dtype, 3), condition = ramp(Scalar::Bool, x.shape);
    GraphBuilder b;
    const Node c = b.input(v1::BOOL, {x.shape[0]});
    const Node in0 = b.input(wire(dtype), {x.shape[0]});
    const Node in1 = b.input(wire(dtype), {x.shape[0]});
    b.output(b.op(v1::WHERE, {c, in0, in1}));
    Program(b.graph()).check({{condition, x, y}, {}}, Tolerance::exact());
  }
}

TEST_CASE("every kind of shape: rank 0, empty, odd, one") {
  const std::vector<Shape> shapes = {{},     {1},    {0},       {7},       {8},       {9},          {33},
                                     {3, 5}, {5, 1}, {2, 0, 3}, {1, 1, 1}, {4, 3, 7}, {2, 1, 3, 5}, {130}};
  for (const Shape& shape : shapes) {
    for (const Scalar dtype : {Scalar::F32, Scalar::I8, Scalar::F16, Scalar::I64, Scalar::F8E4M3}) {
      CAPTURE(shape, ir::to_string(dtype));
      GraphBuilder b;
      const Dims dims(shape.begin(), shape.end());
      const Node x = b.input(wire(dtype), dims), y = b.parameter(wire(dtype), dims);
      b.output(b.op(v1::MUL, {b.op(v1::ADD, {x, y}), y}));
      Program(b.graph()).check({{ramp(dtype, shape, 1), ramp(dtype, shape, 2)}, {}}, Tolerance::exact());
    }
  }
}

TEST_CASE("fp8 constants, folded and not") {
  for (const Scalar dtype : kFp8) {
    INFO(ir::to_string(dtype));
    GraphBuilder b;
    const Node y = b.input(wire(dtype), {3});
    for (const std::uint64_t bits : {0x00, 0x01, 0x07, 0x38, 0x7b, 0x7c, 0x7e, 0x7f, 0x80, 0x84, 0xb9, 0xff}) {
      const Node x = b.fill(wire(dtype), codegen::reference::decode(dtype, bits), {3});
      b.output(b.op(v1::ADD, {x, y}));
      b.output(b.cast(b.op(v1::MUL, {x, x}), v1::F32));
      b.output(b.cast(x, v1::I16));
    }
    Program(b.graph()).check({{ramp(dtype, {3})}, {}}, Tolerance::exact());
  }
}

TEST_CASE("constants and positions") {
  for (const Scalar dtype :
       {Scalar::I8, Scalar::U32, Scalar::I64, Scalar::F16, Scalar::F32, Scalar::F64, Scalar::F8E4M3, Scalar::F8E5M2}) {
    INFO(ir::to_string(dtype));
    GraphBuilder b;
    b.output(b.constant(ramp(dtype, {3, 5}, 4)));
    b.output(b.fill(wire(dtype), {5, 5.0}, {2, 3}));
    b.output(b.iota(wire(dtype), {3, 4}, 0));
    b.output(b.op(v1::ADD, {b.iota(wire(dtype), {3, 4}, 1), b.fill(wire(dtype), {1, 1.0}, {3, 4})}));
    b.output(b.fill(wire(dtype), {3, 3.0}, {}));
    Program(b.graph()).check({{}, {}}, Tolerance::exact());
  }
}

}  // namespace
}  // namespace hearth::conformance
