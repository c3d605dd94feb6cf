// importer: the state of one import (see import.h). Node handlers give the reason alone on refusal; run() puts
// "node i (OP) from PLACE: " before it. Files: import.cpp (driver, leaves), import_ops.cpp (one handler an op family),
// import_loop.cpp.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/shape.h"
#include "compiler/passes/import/import.h"

namespace hearth::passes {

using Result = absl::StatusOr<ir::UOpRef>;

class Importer {
 public:
  Importer(ir::Graph& graph, const v1::Graph& proto) : g_(graph), proto_(proto), shapes_(graph) {}

  absl::StatusOr<ImportedGraph> run();
  // As the body of a loop in a graph with these variables; `is_fixed` says which inputs are parameters of it.
  absl::StatusOr<ImportedGraph> run_as_body(const std::vector<ir::UOpRef>& vars, std::vector<bool> is_fixed);

 private:
  absl::Status at_node(int i, const absl::Status& why) const;
  std::string name_of(int i) const;  // "node 7 (MATMUL)"

  absl::StatusOr<ImportedGraph> import_nodes();
  absl::Status import_vars();

  absl::StatusOr<ImportedGraph> import_outputs();

  // Graph.carried (import_carried.cpp).
  absl::Status find_carried();
  Result with_room(const v1::CarriedInput& carried, ir::DType dtype, const ir::Shape& shape, ir::BufferInfo buffer);
  Result kept_in_place(int node, ir::UOpRef value);
  absl::Status check_carried();
  ir::UOpRef filled(ir::UOpRef value, const ir::Shape& shape);

  absl::Status check_size(const ir::Shape& shape, ir::DType dtype) const;
  // Whether a buffer can hold a value of this shape.
  absl::Status check_stored(const ir::Shape& shape, ir::DType dtype) const;

  absl::StatusOr<ir::DType> wire_dtype(v1::DType t) const;

  absl::StatusOr<std::vector<ir::UOpRef>> exprs(const v1::Node& n) const;

  Result import_node(int i);
  Result leaf(const v1::Node& n, ir::DType dtype);
  Result elementwise(const v1::Node& n, ir::Op op);
  Result movement(const v1::Node& n);
  Result reduce(const v1::Node& n, ir::ReduceKind kind);
  Result matmul();
  Result gather(const v1::Node& n);
  Result scatter(const v1::Node& n);
  Result attention(const v1::Node& n);
  Result cat(const v1::Node& n);
  Result loop(const v1::Node& n);
  absl::Status import_loop(const v1::Loop& loop, std::vector<ir::UOpRef> operands);
  void drop_unread_results();
  absl::Status check_operands(const ImportedLoop& loop, const std::vector<ir::UOpRef>& operands);

  bool is_at_least(ir::UOpRef a, ir::UOpRef b) const;  // lengths: provably a >= b
  absl::Status need_inputs(const v1::Node& n, int count) const;
  absl::Status need_axes(const v1::Node& n, int rank, bool distinct = true) const;
  static std::string text(const ir::Shape& shape);

  ir::Graph& g_;
  const v1::Graph& proto_;
  ir::ShapeCache shapes_;
  ImportedGraph out_;
  std::vector<ir::UOpRef> values_;
  std::vector<ir::UOpRef> x_;  // inputs of the node at hand
  std::map<std::uint32_t, std::vector<std::string>> locations_;
  std::set<std::string> names_;
  std::size_t num_constants_ = 0;  // of out_.buffers
  bool is_body_ = false;
  std::vector<bool> is_fixed_;                           // inputs of a body, by their number
  std::map<std::int64_t, std::uint32_t> loop_ids_;       // loops of the proto that were met
  std::vector<std::set<std::uint32_t>> results_of_;      // by id: those that nodes name
  std::vector<std::vector<ir::UOpRef>> operands_of_;     // by id
  std::map<int, const v1::CarriedInput*> carried_;       // by the output's node: those that can be kept in place
  std::map<int, const v1::CarriedInput*> carried_into_;  // the same by the input's node
  std::vector<std::pair<int, int>> pairs_;               // nodes of Graph.carried's outputs and inputs
  std::map<std::string, ir::UOpRef> rooms_;              // buffers of carried inputs, by name
  std::map<int, ir::UOpRef> whole_;                      // carried outputs with all of their memory, by node
};

}  // namespace hearth::passes
