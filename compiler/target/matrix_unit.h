// MatrixUnit: what of a target multiplies small matrices of narrow numbers and sums in wide ones (Op::Wmma), and what
// it costs. A unit of one row works on the vectors of an ordinary register tile, whose second operand is packed with
// `group` neighbours of the reduced axis side by side.
#pragma once

namespace hearth::target {

struct MatrixUnit {
  const char* name;
  int group;            // neighbours along the reduced axis that one operation sums
  double cycles;        // of one operation on a vector of results
  double latency;       // until the next operation on the same results
  double widen_cycles;  // to bring a vector of an operand into shape, once for all operations that read it
  int widen_registers;  // that a vector of an operand takes meanwhile
};

}  // namespace hearth::target
