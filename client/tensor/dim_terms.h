// What a symbolic Dim is made of: a sum of products of atoms. Inside client/tensor/ only; immutable once made.
//
//   for (const Term& term : poly.terms) text += term.key();
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "hearth/dim.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::client {

// A factor that is not a number: a variable, or an operation that does not fold. `text` is its identity.
struct Atom {
  v1::ExprToken::Kind kind = v1::ExprToken::VAR;
  Variable variable;
  Dim a, b;
  std::string text;   // identity, bounds of variables included
  std::string shown;  // for people
  std::int64_t low = 0;
  std::int64_t high = 0;
};
using AtomPtr = std::shared_ptr<const Atom>;

struct Term {
  std::vector<AtomPtr> factors;  // ordered by text
  std::int64_t coefficient = 1;
  std::string key() const {
    std::string text;
    for (const AtomPtr& factor : factors) str_append(&text, factor->text, "*");
    return text;
  }
};

struct Dim::Poly {
  std::vector<Term> terms;  // ordered by key, unique, no zero coefficient; the constant term has the key ""
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// For people: as it stands beside an operator that binds closer than a sum.
std::string operand_text(const Dim& dim);

}  // namespace hearth::client
