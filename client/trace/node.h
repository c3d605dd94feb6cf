// Node: one value of a traced graph while it is recorded. Nodes are immutable; a Tensor is a handle. Inside client/
// only. Thread-safe (no shared state).
//
//   return make_node({.op = v1::EXP, .dtype = x.dtype(), .shape = x.shape(), .inputs = {x}}, loc);
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hearth/graph.h"
#include "hearth/tensor.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::client {

struct RecordedLoop;  // client/trace/recorded_loop.h

struct Node {
  v1::Op op = v1::OP_UNSPECIFIED;
  DType dtype = DType::kF32;
  Shape shape;  // of the result
  std::vector<Tensor> inputs;
  std::vector<std::int64_t> axes;
  std::vector<Dim> args;
  std::string data;
  std::string name;
  ParameterData parameter;                   // PARAMETER only
  bool is_unnamed = false;                   // PARAMETER only: its place in the graph names it
  std::shared_ptr<const RecordedLoop> loop;  // LOOP only; axes = [result]
  std::string provenance;                    // file:line, or the innermost ScopedLocation
  std::string called;                        // the public op that made it, with others: "linear"; empty: none
  std::uint64_t call = 0;                    // OpScope::call
  ~Node();                                   // iterative: deep graphs do not exhaust the stack
};

// Makes one checked node. Shape inference is the caller's (client/ops/*.cpp); `loc` becomes its provenance.
Tensor make_node(Node node, const Loc& loc);

}  // namespace hearth::client
