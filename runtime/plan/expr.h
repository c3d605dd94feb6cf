// Expr: a checked integer expression over a plan's variables. Compiled once from untrusted tokens; evaluation
// allocates nothing and cannot fail, overflow or divide by zero for any values within the variables' bounds.
// Immutable; thread-safe. Errors: InvalidArgument naming the token.
//
//   absl::StatusOr<Expr> grid = Expr::compile(launch.grid(), vars);
//   std::int64_t units = grid->evaluate(values);
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::runtime {

struct PlanVariable {
  std::string name;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t unit = 1;  // values are multiples of it
};

class Expr {
 public:
  static constexpr int kMaxStack = 64;
  static constexpr int kMaxTokens = 4096;

  static absl::StatusOr<Expr> compile(const v1::Expr& wire, const std::vector<PlanVariable>& vars);

  // `values` holds one value a plan variable, each within its bounds.
  std::int64_t evaluate(const std::int64_t* values) const;
  std::int64_t min() const { return min_; }
  std::int64_t max() const { return max_; }
  bool is_const() const { return min_ == max_; }
  bool uses(std::size_t variable) const;
  // For people: "past + seq".
  std::string to_text(const std::vector<PlanVariable>& vars) const;

 private:
  struct Token {
    v1::ExprToken::Kind kind;
    std::int64_t value;
  };
  std::vector<Token> tokens_;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
};

}  // namespace hearth::runtime
