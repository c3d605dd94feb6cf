// Generator: makes one random graph step by step; the ops are in random_elementwise.cpp and random_movement.cpp.
// A step that does not fit its operand returns false and changes nothing that matters. Used by random_graph.cpp only.
//
//   RandomGraph graph = Generator(seed, Palette::kAll).generate();
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/conformance/ops/random_graph.h"

namespace hearth::conformance {

using ir::Scalar;

inline constexpr int kFeeds = 3;
inline constexpr std::int64_t kMaxElements = 400;

// A length: its expression, its value in every feed, and a text equal for lengths built in the same way.
struct Length {
  Dim expr;
  std::int64_t at[kFeeds];
  std::string key;
  bool is_fixed = true;
  std::int64_t least() const { return *std::min_element(at, at + kFeeds); }
  std::int64_t most() const { return *std::max_element(at, at + kFeeds); }
};

inline Length fixed(std::int64_t value) { return {Dim(value), {value, value, value}, std::to_string(value)}; }

inline Length shifted(const Length& length, std::int64_t by) {
  if (length.is_fixed) return fixed(length.at[0] + by);
  Length result = length;
  result.expr = length.expr + Dim(by);
  for (std::int64_t& value : result.at) value += by;
  absl::StrAppend(&result.key, "+", by);
  return result;
}

struct Value {
  Node node;
  Scalar dtype;
  std::vector<Length> shape;
  double bound;      // greatest magnitude
  double error = 0;  // 0: exact; exact floats are integers

  std::int64_t elements() const {
    std::int64_t count = 1;
    for (const Length& length : shape) count *= std::max<std::int64_t>(length.most(), 1);
    return count;
  }
  bool same_shape(const Value& other) const {
    return std::equal(shape.begin(), shape.end(), other.shape.begin(), other.shape.end(),
                      [](const Length& a, const Length& b) { return a.key == b.key; });
  }
};

// Largest magnitude up to which every integer is exact.
inline double exact_limit(Scalar dtype) {
  if (ir::is_float(dtype)) return 2 / epsilon(dtype);
  if (dtype == Scalar::Bool) return 1;
  return std::ldexp(1.0, ir::bit_width(dtype) - (ir::is_unsigned_int(dtype) ? 0 : 1)) - 1;
}

class Generator {
 public:
  Generator(std::uint64_t seed, Palette palette) : random_(seed), seed_(seed), palette_(palette) {}
  RandomGraph generate();

 private:
  static Dims exprs(const std::vector<Length>& shape);
  void make_variables();
  Scalar any_dtype();
  std::vector<Length> any_shape();
  bool add(Node node, Scalar dtype, std::vector<Length> shape, double bound, double error = 0);
  // The result of a movement of x.
  bool moved(const Value& x, Node node, std::vector<Length> shape);
  void leaf();
  bool step();
  // A value of x's shape and dtype: an existing one, or x itself.
  Value partner(const Value& x, Scalar dtype);
  bool arithmetic(const Value& x);
  bool bitwise(const Value& x);
  bool compare(const Value& x);
  bool choose(const Value& x);
  bool unary(const Value& x);
  bool inexact(const Value& x);
  bool cast(const Value& x);
  bool reshape(const Value& x);
  bool expand(const Value& x);
  bool permute(const Value& x);
  bool pad(const Value& x);
  bool shrink(const Value& x);
  bool flip(const Value& x);
  bool unfold(const Value& x);
  bool cat(const Value& x);
  bool reduce(const Value& x);
  bool matmul(const Value& x);
  bool gather(const Value& x);
  bool scatter(const Value& x);

  Random random_;
  std::uint64_t seed_;
  Palette palette_;
  GraphBuilder builder_;
  std::vector<Feed> feeds_;
  std::vector<Length> variables_;
  std::vector<Value> values_;
};

}  // namespace hearth::conformance
