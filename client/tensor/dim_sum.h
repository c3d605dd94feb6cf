// DimAccess: sums of products of atoms: the one form that each has, and their bounds. Inside client/tensor/ only; all
// functions are pure. Errors: JitError for what overflows 64 bits.
//
//   Dim twice = DimAccess::make(DimAccess::scaled(length, 2));
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/tensor/dim_terms.h"
#include "hearth/dim.h"

namespace hearth::client {

using Wide = __int128;

constexpr std::int64_t kMaxScaled = std::int64_t{1} << 20;  // divisors and coefficients that are multiplied out

[[noreturn]] void fail_dim(std::string message);
std::int64_t narrow(Wide value, std::string_view what);
bool by_text(const AtomPtr& a, const AtomPtr& b);

struct DimAccess {
  struct Interval {
    Wide low = 0, high = 0;
  };

  static std::vector<Term> terms(const Dim& dim);
  // Ordered by key, unique, without zero coefficients.
  static std::vector<Term> normal(std::vector<Term> terms);
  static std::vector<Term> scaled(const Dim& dim, std::int64_t factor);
  // The constant divisor of a term that is a number times y % m, else 0.
  static std::int64_t modulus(const Term& term);
  // A sum whose remainders and halves are quotients where that can be: what is padded to a multiple is that multiple.
  static Dim as_quotients(const Dim& sum);
  static Dim make(std::vector<Term> terms);
  static std::vector<AtomPtr> common_factors(const std::vector<Term>& terms);
  static std::vector<AtomPtr> factors_beside(const Term& term, const std::vector<AtomPtr>& common);
  static Dim atom(v1::ExprToken::Kind kind, std::string_view symbol, Dim a, Dim b, std::int64_t low, std::int64_t high);
  // What the Dim is, if that is one atom.
  static const Atom* only_atom(const Dim& dim);
  static std::string identity(const Dim& dim);

 private:
  static std::optional<std::vector<Term>> terms_without(const std::vector<Term>& terms, std::vector<Term> more,
                                                        const std::vector<Term>& parts);
  static Dim as_multiple(const Dim& sum);
  static Dim with_merged_halves(const Dim& sum);
  static std::int64_t times_in(const std::vector<Term>& sum, const std::vector<Term>& part);
  static Interval interval(const std::vector<Term>& terms);
  static Wide lower_bound(const std::vector<Term>& terms, int depth);
};

}  // namespace hearth::client
