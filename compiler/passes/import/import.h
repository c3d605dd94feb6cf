// import: traced graph (untrusted proto) -> checked tensor-level UOps.
//
// Every index, dtype, shape, bound and size is checked; shapes are re-derived, never believed. A refusal names node,
// op and reason: INVALID_ARGUMENT "node 7 (PERMUTE): axes [0, 0] are not a permutation of rank 2".
#pragma once
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::passes {

inline constexpr int kMaxRank = 16;

// Result of import. `buffers[i]` describes the Buffer UOps whose BufferInfo.id == i: inputs and parameters
// in the order of their nodes, constants behind a digest-free copy of their bytes.
struct ImportedBuffer {
  ir::BufferKind kind;
  std::string name;  // input, parameter
  ir::DType dtype;
  std::vector<ir::UOpRef> shape;  // of its memory
  std::string data;               // constant bytes
};
// An output that is made in the memory of an input, as Graph.carried asks for.
struct ImportedCarry {
  std::uint32_t output = 0;                           // of `outputs`, which then has all of that memory
  std::uint32_t buffer = 0;                           // the input's id
  std::vector<ir::UOpRef> output_shape, input_shape;  // without the room
};
struct ImportedLoop;
struct ImportedGraph {
  std::vector<ir::UOpRef> vars;  // Op::Var, slot = position
  std::vector<ImportedBuffer> buffers;
  std::vector<ir::UOpRef> outputs;  // tensor-level values
  std::vector<std::string> output_names;
  std::vector<ImportedLoop> loops;  // by LoopInfo::id
  std::vector<ImportedCarry> carried;
};

// The body's buffers but for its constants are the operands: `carried` ones, `sliced` ones, invariants. An invariant
// that is a parameter or a constant of the graph around is a parameter of the body, so that what is made of it alone is
// made once.
struct ImportedLoop {
  ImportedGraph body;
  ir::UOpRef count = nullptr;  // over the graph's variables
  std::uint32_t carried = 0;
  std::uint32_t sliced = 0;
  std::uint32_t num_operands = 0;
  bool reverse = false;
  std::vector<bool> collected;         // one a carried value
  std::vector<std::uint32_t> results;  // what each of body.outputs is; of stacked values only those that are read
  bool is_stacked(std::size_t result) const { return result >= carried || collected[result]; }
};

absl::StatusOr<ImportedGraph> import_graph(ir::Graph& graph, const v1::Graph& proto);

}  // namespace hearth::passes
