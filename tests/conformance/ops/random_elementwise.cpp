// Random elementwise ops, reductions and matmul, with the bounds and errors of their results.
#include "tests/conformance/ops/random_generator.h"

namespace hearth::conformance {

Value Generator::partner(const Value& x, Scalar dtype) {
  std::vector<Value> fitting;
  for (const Value& value : values_) {
    if (value.dtype == dtype && value.same_shape(x)) fitting.push_back(value);
  }
  if (!fitting.empty()) return random_.pick(fitting);
  const std::int64_t constant = dtype == Scalar::Bool ? random_.in(0, 1) : random_.in(0, 3);
  add(builder_.fill(wire(dtype), {constant, static_cast<double>(constant)}, exprs(x.shape)), dtype, x.shape, 3);
  return values_.back();
}

bool Generator::arithmetic(const Value& x) {
  if (x.dtype == Scalar::Bool) return false;
  const Value y = partner(x, x.dtype);
  const v1::Op op = random_.pick(std::vector<v1::Op>{v1::ADD, v1::SUB, v1::MUL, v1::MAX, v1::MIN});
  double bound = op == v1::MUL                    ? x.bound * y.bound
                 : op == v1::ADD || op == v1::SUB ? x.bound + y.bound
                                                  : std::max(x.bound, y.bound);
  double error = op == v1::MUL ? x.error * y.bound + y.error * x.bound + x.error * y.error : x.error + y.error;
  if (ir::is_float(x.dtype)) {
    if (bound > exact_limit(x.dtype) / 4) return false;
    if (error > 0) error += bound * epsilon(x.dtype);
  } else {
    const bool wraps = bound > exact_limit(x.dtype) || (op == v1::SUB && ir::is_unsigned_int(x.dtype));
    if (wraps) bound = exact_limit(x.dtype) + 1;
  }
  return add(builder_.op(op, {x.node, y.node}), x.dtype, x.shape, bound, error);
}

bool Generator::bitwise(const Value& x) {
  if (ir::is_float(x.dtype)) return false;
  const Value y = partner(x, x.dtype);
  std::vector<v1::Op> ops = {v1::AND, v1::OR, v1::XOR, v1::MAX, v1::MIN};
  if (x.dtype != Scalar::Bool) {
    for (const v1::Op op : {v1::SHL, v1::SHR, v1::TRUNCDIV, v1::TRUNCMOD, v1::FLOORDIV, v1::FLOORMOD})
      ops.push_back(op);
  }
  return add(builder_.op(random_.pick(ops), {x.node, y.node}), x.dtype, x.shape, exact_limit(x.dtype) + 1);
}

bool Generator::compare(const Value& x) {
  const Value y = partner(x, x.dtype);
  if (x.error > 0 || y.error > 0) return false;
  return add(builder_.op(random_.pick(std::vector<v1::Op>{v1::LT, v1::LE, v1::EQ, v1::NE}), {x.node, y.node}),
             Scalar::Bool, x.shape, 1);
}

bool Generator::choose(const Value& x) {
  const Value condition = partner(x, Scalar::Bool), y = partner(x, x.dtype);
  return add(builder_.op(v1::WHERE, {condition.node, x.node, y.node}), x.dtype, x.shape, std::max(x.bound, y.bound),
             std::max(x.error, y.error));
}

bool Generator::unary(const Value& x) {
  if (x.dtype == Scalar::Bool) return add(builder_.op(v1::NOT, {x.node}), x.dtype, x.shape, 1);
  std::vector<v1::Op> ops = {v1::NEG, v1::ABS};
  if (!ir::is_float(x.dtype)) {
    ops.push_back(v1::NOT);
  } else if (x.error == 0) {
    for (const v1::Op op : {v1::FLOOR, v1::CEIL, v1::ROUND, v1::TRUNC}) ops.push_back(op);
  }
  const double bound = ir::is_float(x.dtype) ? x.bound : exact_limit(x.dtype) + 1;
  return add(builder_.op(random_.pick(ops), {x.node}), x.dtype, x.shape, bound, x.error);
}

bool Generator::inexact(const Value& x) {
  if (!ir::is_float(x.dtype) || x.error > 0 || x.bound > 8) return false;
  std::vector<v1::Op> ops = {v1::EXP, v1::LOG, v1::SIN, v1::COS, v1::TANH, v1::ERF, v1::SIGMOID, v1::SQRT, v1::RECIP};
  if (palette_ != Palette::kBeforeFp8) ops.insert(ops.end(), {v1::EXP2, v1::LOG2});
  const v1::Op op = random_.pick(ops);
  const double bound = op == v1::EXP ? std::exp(x.bound) : op == v1::EXP2 ? std::exp2(x.bound) : 4;
  // fp8: an approximation in f32 ends in the same or the next value.
  const double steps = ir::byte_size(x.dtype) == 1 ? 1 : 16;
  return add(builder_.op(op, {x.node}), x.dtype, x.shape, bound, bound * steps * epsilon(x.dtype));
}

bool Generator::cast(const Value& x) {
  const Scalar to = any_dtype();
  if (x.error > 0 || to == x.dtype) return false;
  if (ir::is_float(to) && x.bound > exact_limit(to)) return false;
  const double limit = exact_limit(to) + 1;
  return add(builder_.cast(x.node, wire(to)), to, x.shape,
             to == Scalar::Bool                                                ? 1
             : std::min(x.bound, limit) == x.bound && !ir::is_unsigned_int(to) ? x.bound
                                                                               : limit);
}

bool Generator::reduce(const Value& x) {
  std::vector<std::int64_t> axes;
  std::vector<Length> shape = x.shape;
  double count = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!random_.one_in(2)) continue;
    axes.push_back(static_cast<std::int64_t>(axis));
    count *= static_cast<double>(std::max<std::int64_t>(shape[axis].most(), 1));
    shape[axis] = fixed(1);
  }
  std::vector<v1::Op> ops = {v1::REDUCE_MAX, v1::REDUCE_MIN};
  if (x.dtype != Scalar::Bool) ops.push_back(v1::REDUCE_SUM);
  if (ir::is_int(x.dtype)) ops.push_back(v1::REDUCE_PROD);
  const v1::Op op = random_.pick(ops);
  double bound = op == v1::REDUCE_SUM ? x.bound * count : x.bound,
         error = op == v1::REDUCE_SUM ? x.error * count : x.error;
  if (!ir::is_float(x.dtype)) {
    bound = exact_limit(x.dtype) + 1;
  } else {
    if (bound > exact_limit(x.dtype) / 4) return false;
    if (error > 0) error += bound * epsilon(x.dtype) * count;
    // An empty maximum is -infinity: no longer a small integer.
    if (op != v1::REDUCE_SUM && x.elements() != 0) {
      for (const std::int64_t axis : axes) {
        if (x.shape[axis].least() == 0) return false;
      }
    }
  }
  return add(builder_.reduce(op, x.node, axes), x.dtype, shape, bound, error);
}

bool Generator::matmul(const Value& x) {
  const std::size_t rank = x.shape.size();
  if (rank < 2 || x.dtype == Scalar::Bool) return false;
  const double terms = static_cast<double>(std::max<std::int64_t>(x.shape[rank - 1].most(), 1));
  double bound = x.bound * x.bound * terms, error = 2 * x.error * x.bound * terms;
  if (ir::is_float(x.dtype)) {
    if (bound > exact_limit(x.dtype) / 4) return false;
    if (error > 0) error += x.error * x.error * terms + bound * epsilon(x.dtype) * terms;
  } else {
    bound = exact_limit(x.dtype) + 1;
  }
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  std::swap(axes[rank - 1], axes[rank - 2]);
  Value result = x;
  result.shape[rank - 1] = x.shape[rank - 2];
  if (result.elements() * x.shape[rank - 1].most() > 4 * kMaxElements) return false;
  const Node other = builder_.permute(x.node, axes);
  return add(builder_.op(v1::MATMUL, {x.node, other}), x.dtype, result.shape, bound, error);
}

}  // namespace hearth::conformance
