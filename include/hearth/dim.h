// Dim: one length of a shape, an integer polynomial over bounded Variables; constants fold at once.
// Immutable value, cheap to copy, thread-safe. Equality is structural on a normal form, so n*2+n == 3*n;
// floor division and modulo that do not fold become opaque terms. Overflow throws JitError.
//
//   Dim n = Dim::variable("n", 1, 512);
//   Dim rows = (n + 7) / 8;             // floor division; rows.min() == 1, rows.max() == 64
//   bool fixed = rows.is_const();       // false
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hearth/config.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// How the range of a variable is compiled: as one plan for all values, unless one of these is given. A prepared plan
// has all of them and replays what its values belong to; of several variables every combination is compiled, at
// most 32.
struct RangeParts {
  // Ascending; the last is the greatest value. The range in parts, each from the end before it up to one of these: what
  // a part is compiled for is close to its values, and takes no more memory than they need.
  std::vector<std::int64_t> ends = {};
  // Ascending. Values that have code of exactly their own, beside one for the whole range.
  std::vector<std::int64_t> points = {};
  bool operator==(const RangeParts&) const = default;
};

struct Variable {
  std::string name;
  std::int64_t min = 0;
  std::int64_t max = 0;
  RangeParts parts = {};
  std::int64_t unit = 1;  // values are multiples of it
  bool operator==(const Variable&) const = default;
};

class Dim;
// Declared here for what is exported: a friend's first declaration has no visibility of its own.
Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim operator/(const Dim& a, const Dim& b);
Dim operator%(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
bool operator==(const Dim& a, const Dim& b);
bool is_at_least(const Dim& a, const Dim& b);

class Dim {
 public:
  Dim() : Dim(0) {}
  // From any integer: shapes are written as {1, samples.size(), n}. JitError for one beyond 2^63 - 1.
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  Dim(Integer value) : value_(in_range(value)) {}  // NOLINT
  // 0 <= min <= max and a non-empty name, parts within the bounds, else JitError.
  static Dim variable(std::string_view name, std::int64_t min, std::int64_t max, RangeParts parts = {});
  static Dim variable(Variable of);

  // A variable whose values are multiples of `unit` (an image of whole tiles), so that unit * n / unit is n and what is
  // divided by its factors has no remainder. Bounds and parts are multiples, too, else JitError.
  static Dim multiple(std::string_view name, std::int64_t unit, std::int64_t min, std::int64_t max,
                      RangeParts parts = {});

  bool is_const() const { return !poly_; }
  std::int64_t value() const;  // only for constants; JitError otherwise
  std::int64_t min() const;    // bounds over all values of the variables
  std::int64_t max() const;
  std::string to_string() const;

  // Adds every variable used to `vars` (by name, no duplicates; JitError when one name has two bounds).
  void collect_variables(std::vector<Variable>& vars) const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim operator/(const Dim& a, const Dim& b);  // floor; divisor provably positive, else JitError
  friend Dim operator%(const Dim& a, const Dim& b);  // floor; likewise
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend bool is_at_least(const Dim& a, const Dim& b);  // provably a >= b; what is not proved may still hold

  struct Poly;  // normal form, private to dim.cpp

 private:
  template <typename Integer>
  static std::int64_t in_range(Integer value) {
    if (!std::in_range<std::int64_t>(value)) refuse(static_cast<std::uint64_t>(value));
    return static_cast<std::int64_t>(value);
  }
  [[noreturn]] static void refuse(std::uint64_t value);
  explicit Dim(std::shared_ptr<const Poly> poly);
  friend struct DimAccess;
  std::int64_t value_ = 0;            // when poly_ is null
  std::shared_ptr<const Poly> poly_;  // else
};

using Shape = std::vector<Dim>;

bool operator==(const Shape& a, const std::vector<std::int64_t>& b);  // a constant shape of these lengths
Dim num_elements(const Shape& shape);
std::string to_string(const Shape& shape);  // "[2, n, 8]"
bool is_const(const Shape& shape);
std::vector<std::int64_t> const_shape(const Shape& shape);  // JitError when symbolic

}  // namespace hearth::client
#pragma GCC visibility pop
