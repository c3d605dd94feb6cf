// Domain: the values over which a rule is proved. Index: the integers. Fixed widths: wrapping vectors of 8, 16, 32 and
// 64 bits, signed and unsigned. Floats: f16, bf16, f32 and f64 by Z3, both fp8 formats by trying every value. Fast
// maths: the real numbers.
//
//   for (const Domain& domain : domains_of(rule.dtypes)) prove(rule, domain);
#pragma once
#include <string>
#include <vector>

#include "compiler/rewrite/pattern.h"

namespace hearth::test {

enum class Theory { Integer, Signed, Unsigned, Bool, Float, Real };

struct Domain {
  Theory theory;
  ir::Scalar type = ir::Scalar::Void;  // Void: of no one type (Real)

  bool is_vector() const { return theory == Theory::Signed || theory == Theory::Unsigned; }
  unsigned bits() const { return static_cast<unsigned>(ir::bit_width(type)); }  // of a vector
  bool operator==(const Domain&) const = default;
};
std::string to_string(const Domain& domain);  // "i16", "index", "real"

inline const Domain kReal{Theory::Real};
Domain domain_of(ir::Scalar type);
// All that a rule of these dtypes is proved over.
std::vector<Domain> domains_of(rewrite::DTypeSet dtypes);

}  // namespace hearth::test
