// compiler/ir/bounds with one mistake each, made from its text at build time by make_mutants.py, which names them.
#pragma once
#include <span>

#include "tests/unit/bounds/transfer/transfer_checker.h"

namespace hearth::test {

struct BoundsMutant {
  const char* name;
  Transfer transfer;
};
std::span<const BoundsMutant> bounds_mutants();

}  // namespace hearth::test
