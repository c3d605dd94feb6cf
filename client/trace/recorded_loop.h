// RecordedLoop: the body of a loop while it is recorded (hearth/ops/loop.h), and what of the graph around it uses.
// Inside client/ only. Immutable; its nodes are shared with the graph around.
#pragma once
#include <vector>

#include "hearth/tensor.h"

namespace hearth::client {

struct RecordedLoop {
  Dim count;
  std::size_t carried = 0;  // of the operands
  std::size_t sliced = 0;
  bool reverse = false;
  std::vector<bool> collected;  // one a carried value: its result is what every step made
  // What stands for each operand in the body: a placeholder of what is carried or sliced, and for what is the same in
  // every step the node of the graph around itself.
  std::vector<Tensor> operands;
  std::vector<Tensor> outputs;  // next values of what is carried, then what is stacked
};

// What the values depend on besides `placeholders`: nodes of the graph around that a step reads, without
// movement ops, which are the body's. Of what is computed of parameters and constants alone the parameters: that
// computation belongs to the body and is done once.
std::vector<Tensor> find_invariants(const std::vector<Tensor>& outputs, const std::vector<Tensor>& placeholders);

}  // namespace hearth::client
