// Dim: one length of a shape, an integer polynomial over bounded Variables; constants fold at once.
// Immutable value, cheap to copy, thread-safe. Equality is structural on a normal form, so n*2+n == 3*n;
// floor division and modulo that do not fold become opaque terms. Overflow throws JitError.
//
//   Dim n = Dim::variable("n", 1, 512);
//   Dim rows = (n + 7) / 8;             // floor division; rows.min() == 1, rows.max() == 64
//   bool fixed = rows.is_const();       // false
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::v1 {
class Expr;
}

namespace hearth::client {

struct Variable {
  std::string name;
  std::int64_t min = 0;
  std::int64_t max = 0;
  bool operator==(const Variable&) const = default;
};

class Dim {
 public:
  Dim() : Dim(0) {}
  Dim(std::int64_t value) : value_(value) {}  // NOLINT: shapes are written as {1, 3, n}
  Dim(int value) : value_(value) {}           // NOLINT
  // 0 <= min <= max and a non-empty name, else JitError.
  static Dim variable(std::string_view name, std::int64_t min, std::int64_t max);

  bool is_const() const { return !poly_; }
  std::int64_t value() const;  // only for constants; JitError otherwise
  std::int64_t min() const;    // bounds over all values of the variables
  std::int64_t max() const;
  std::string to_string() const;

  // Adds every variable used to `vars` (by name, no duplicates; JitError when one name has two bounds).
  void collect_variables(std::vector<Variable>& vars) const;
  // Postfix tokens; variables by their index in `vars`.
  void encode(const std::vector<Variable>& vars, v1::Expr* out) const;

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
