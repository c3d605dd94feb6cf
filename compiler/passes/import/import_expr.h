// Parts of import: integer expressions and scalar constants of the wire, and the limits on them.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::passes {

inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;  // of a dim, a bound, an expression's value
inline constexpr __int128 kMaxTensorBytes = __int128{1} << 44;     // of a value, which need not be stored
inline constexpr std::uint64_t kMaxStoredBytes = std::uint64_t{1}
                                                 << 42;  // of a buffer, the arena: runtime/plan/plan.cpp's
inline constexpr std::size_t kMaxConstantBytes = std::size_t{1} << 20;  // of one constant; larger data are parameters
inline constexpr int kMaxExprTokens = 256;

// A buffer's bytes at the variables' upper bounds, for lengths within kMaxTensorBytes. An empty axis hides no length.
std::uint64_t stored_bytes(const std::vector<ir::UOpRef>& shape, ir::DType dtype);

// Postfix tokens -> index UOp. Every intermediate value is proved within +-kMaxExtent, divisors positive.
absl::StatusOr<ir::UOpRef> import_expr(ir::Graph& graph, const v1::Expr& expr, const std::vector<ir::UOpRef>& vars);

// Index UOp over Vars -> postfix tokens (Var slots become indices).
v1::Expr export_expr(ir::UOpRef expr);

// One little-endian element.
ir::UOpRef import_scalar(ir::Graph& graph, ir::DType dtype, std::string_view bytes);

// Whether the shapes provably hold equally many elements.
bool same_count(ir::Graph& graph, const std::vector<ir::UOpRef>& a, const std::vector<ir::UOpRef>& b);

}  // namespace hearth::passes
