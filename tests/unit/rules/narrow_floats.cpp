#include "tests/unit/rules/narrow_floats.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include "compiler/codegen/reference/element_ops.h"

namespace hearth::test {

using codegen::reference::Element;
using ir::Op;
using ir::Scalar;
using rewrite::NodeKind;
using rewrite::Pattern;
using rewrite::PatternNode;
using rewrite::Sort;
using Code = std::uint8_t;  // the bits of a value, one of all NaNs; a bool: 0 or 1

namespace {

class Values {
 public:
  Values(const rewrite::Rule& rule, Scalar type) : rule_(rule), type_(type) {
    if (!rule.when.empty()) throw std::logic_error("fp8: a condition");
    for (int code = 0; code < 256; ++code) all_.push_back(encode(type, decode(type, static_cast<Code>(code))));
    for (int i = 0; i < rule.lhs.size(); ++i) {
      if (rule.lhs[i].kind == NodeKind::Capture && !index_of_.contains(rule.lhs[i].capture)) {
        index_of_[rule.lhs[i].capture] = captures_.size();
        captures_.push_back(rule.lhs[i].capture);
      }
    }
    compile(rule.lhs, 0, Sort::Element, lhs_);
    compile(rule.rhs, 0, sort_of_lhs(), rhs_);
  }

  Proof run() {
    std::array<Code, rewrite::kNumCaptures> at{};
    return vary(0, at) ? Proof{Verdict::Proved, ""} : Proof{Verdict::Refuted, counterexample_};
  }

 private:
  // A post-fix program: a capture, a constant, or a table's value for the last one, two or three values.
  struct Step {
    enum class Kind { Capture, Constant, Unary, Binary, Where } kind;
    std::size_t capture = 0;
    Code value = 0;
    const std::vector<Code>* table = nullptr;
  };
  using Program = std::vector<Step>;

  static Code encode(Scalar type, Element value) {
    if (ir::is_float(type) && std::isnan(value.f)) value.f = std::numeric_limits<double>::quiet_NaN();
    return static_cast<Code>(codegen::reference::encode(type, value));
  }
  static Element decode(Scalar type, Code code) { return codegen::reference::decode(type, code); }

  Sort sort_of_lhs() const {
    const Sort sort = rewrite::sort_of(rule_.lhs, 0);
    return sort == Sort::Unknown ? Sort::Element : sort;
  }
  Scalar scalar(Sort sort) const { return sort == Sort::Bool ? Scalar::Bool : type_; }

  // Every result of an operation on codes.
  const std::vector<Code>& table(Op op, Scalar operand, bool binary) {
    const auto key = std::pair(op, operand);
    if (auto known = tables_.find(key); known != tables_.end()) return known->second;
    std::vector<Code>& table = tables_[key];
    const Scalar result = ir::op_class(op) == ir::OpClass::Compare ? Scalar::Bool : operand;
    for (int a = 0; a < 256; ++a) {
      for (int b = 0; b < (binary ? 256 : 1); ++b) {
        const Element args[] = {decode(operand, static_cast<Code>(a)), decode(operand, static_cast<Code>(b))};
        const auto value = codegen::reference::evaluate(op, result, operand, std::span(args, binary ? 2 : 1));
        if (!value.ok()) throw std::logic_error(std::string(value.status().message()));
        table.push_back(encode(result, *value));
      }
    }
    return table;
  }

  void compile(const Pattern& p, int i, Sort place, Program& program) {
    const PatternNode& node = p[i];
    if (node.kind == NodeKind::Capture) {
      program.push_back({.kind = Step::Kind::Capture, .capture = index_of_.at(node.capture)});
      return;
    }
    if (node.kind == NodeKind::Literal) {
      const Element value =
          place == Sort::Bool ? Element::of_int(node.value != 0) : Element::of_float(static_cast<double>(node.value));
      program.push_back({.kind = Step::Kind::Constant, .value = encode(scalar(place), value)});
      return;
    }
    if (node.kind == NodeKind::Repeat || node.kind == NodeKind::Lanes || node.kind == NodeKind::Stacked)
      return compile(p, node.sources[0], place, program);
    if (node.kind != NodeKind::Operation) throw std::logic_error("fp8: " + to_string(p, i));
    Sort sort = Sort::Unknown;
    for (int s = node.op == Op::Where ? 1 : 0; s < node.num_sources && sort == Sort::Unknown; ++s)
      sort = rewrite::sort_of(p, node.sources[s]);
    if (sort == Sort::Unknown) sort = ir::op_class(node.op) == ir::OpClass::Compare ? Sort::Element : place;
    for (int s = 0; s < node.num_sources; ++s) {
      compile(p, node.sources[s], node.op == Op::Where && s == 0 ? Sort::Bool : sort, program);
    }
    if (node.op == Op::Where) {
      program.push_back({.kind = Step::Kind::Where});
    } else if (ir::op_class(node.op) == ir::OpClass::Unary) {
      program.push_back({.kind = Step::Kind::Unary, .table = &table(node.op, scalar(sort), false)});
    } else if (node.num_sources == 2) {
      program.push_back({.kind = Step::Kind::Binary, .table = &table(node.op, scalar(sort), true)});
    }  // else one source that stays as it is: a cast to the same type, a lane, a copy
  }

  static Code run(const Program& program, const std::array<Code, rewrite::kNumCaptures>& at) {
    std::array<Code, Pattern::kMaxNodes> stack;
    std::size_t top = 0;
    for (const Step& step : program) {
      switch (step.kind) {
        case Step::Kind::Capture:
          stack[top++] = at[step.capture];
          break;
        case Step::Kind::Constant:
          stack[top++] = step.value;
          break;
        case Step::Kind::Unary:
          stack[top - 1] = (*step.table)[stack[top - 1]];
          break;
        case Step::Kind::Binary:
          --top;
          stack[top - 1] = (*step.table)[stack[top - 1] * 256U + stack[top]];
          break;
        case Step::Kind::Where:
          top -= 2;
          stack[top - 1] = stack[top - 1] != 0 ? stack[top] : stack[top + 1];
          break;
      }
    }
    return stack[0];
  }

  bool vary(std::size_t next, std::array<Code, rewrite::kNumCaptures>& at) {
    if (next == captures_.size()) {
      if (run(lhs_, at) == run(rhs_, at)) return true;
      for (std::size_t i = 0; i < captures_.size(); ++i) {
        const Sort sort = rewrite::is_bool_capture(captures_[i]) ? Sort::Bool : Sort::Element;
        counterexample_ += codegen::reference::to_string(scalar(sort), decode(scalar(sort), at[i])) + " ";
      }
      return false;
    }
    const bool is_bool = rewrite::is_bool_capture(captures_[next]);
    for (std::size_t v = 0; v < (is_bool ? 2 : all_.size()); ++v) {
      at[next] = is_bool ? static_cast<Code>(v) : all_[v];
      if (!vary(next + 1, at)) return false;
    }
    return true;
  }

  const rewrite::Rule& rule_;
  const Scalar type_;
  std::vector<Code> all_;
  std::vector<int> captures_;
  std::map<int, std::size_t> index_of_;
  std::map<std::pair<Op, Scalar>, std::vector<Code>> tables_;
  Program lhs_, rhs_;
  std::string counterexample_;
};

}  // namespace

bool is_narrow_float(const Domain& domain) { return domain.type == Scalar::F8E4M3 || domain.type == Scalar::F8E5M2; }

Proof prove_by_values(const rewrite::Rule& rule, const Domain& domain) { return Values(rule, domain.type).run(); }

}  // namespace hearth::test
