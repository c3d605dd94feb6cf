// importer: the state of one import (see import.h). Node handlers give the reason alone on refusal; run() puts
// "node i (OP) from PLACE: " before it. Files: import.cpp (driver, leaves), import_ops.cpp (one handler an op family).
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/shape.h"
#include "compiler/passes/import.h"

namespace hearth::passes {

using Result = absl::StatusOr<ir::UOpRef>;

class Importer {
 public:
  Importer(ir::Graph& graph, const v1::Graph& proto) : g_(graph), proto_(proto), shapes_(graph) {}

  absl::StatusOr<ImportedGraph> run();

 private:
  absl::Status at_node(int i, const absl::Status& why) const;
  std::string name_of(int i) const;  // "node 7 (MATMUL)"

  absl::Status import_vars();

  absl::StatusOr<ImportedGraph> import_outputs();

  absl::Status check_size(const ir::Shape& shape, ir::DType dtype) const;
  // Of a value that a buffer must hold.
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
  Result attention(const v1::Node& n);
  Result cat(const v1::Node& n);

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
};

}  // namespace hearth::passes
