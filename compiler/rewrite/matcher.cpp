#include "compiler/rewrite/matcher.h"

#include <utility>

#include "compiler/rewrite/fold.h"

namespace hearth::rewrite {

using ir::DType;
using ir::Op;
using ir::UOpRef;

DTypeSet dtype_class(DType dtype) {
  if (ir::is_index(dtype)) return kIndex;
  if (ir::is_signed_int(dtype)) return kSigned;
  if (ir::is_unsigned_int(dtype)) return kUnsigned;
  if (ir::is_bool(dtype)) return kBool;
  return ir::is_float(dtype) ? kFloat : DTypeSet{0};
}

const ir::ConstValue* as_const(UOpRef node) {
  if (node->is(Op::Broadcast)) node = node->source(0);
  return node->is_const() ? &node->as<ir::ConstValue>() : nullptr;
}

namespace {

bool passes_filter(DTypeSet filter, DType dtype) {
  if (filter == 0) return true;
  return (dtype_class(dtype) & filter) != 0 && ((filter & kOneLane) == 0 || dtype.lanes == 1);
}

// Depth first with continuations: what is left to match is a list on the stack, so that a choice deep in one source is
// taken back when a later source fails.
class Matcher {
 public:
  Matcher(const Pattern& pattern, DTypeSet dtypes, absl::FunctionRef<bool(const Match&)> accept)
      : pattern_(pattern), dtypes_(dtypes), accept_(accept) {}

  bool run(UOpRef root) {
    const Goal goal{0, root, nullptr};
    return prove(&goal);
  }

 private:
  // Node `node` of the pattern has to match `subject`; of a Repeat, the subject's sources from `from` on.
  struct Goal {
    std::uint8_t node;
    UOpRef subject;
    const Goal* next;
    std::size_t from = 0;
  };

  // What was bound since `mark`, forgotten.
  void undo(int mark) {
    while (num_bound_ > mark) {
      const std::uint8_t capture = bound_[--num_bound_];
      if (capture == kElement) {
        match_.element = DType();
      } else {
        match_.captures[capture] = nullptr;
      }
    }
  }

  bool unify(DType dtype) {
    if (match_.element.scalar != ir::Scalar::Void) return match_.element == dtype;
    if ((dtype_class(dtype) & dtypes_) == 0) return false;
    match_.element = dtype;
    bound_[num_bound_++] = kElement;
    return true;
  }

  bool bind(std::uint8_t capture, UOpRef subject) {
    UOpRef& bound = match_.captures[capture];
    if (bound != nullptr) return bound == subject;
    if (is_bool_capture(capture) && !ir::is_bool(subject->dtype)) return false;
    if (is_const_capture(capture) && as_const(subject) == nullptr) return false;
    const bool is_element = !is_bool_capture(capture) && capture != kAnyTypeCapture;
    if (is_element && !unify(subject->dtype)) return false;
    bound = subject;
    bound_[num_bound_++] = capture;
    return true;
  }

  // Patterns that match in one way at most, without sources.
  bool is_leaf(const PatternNode& node) const {
    switch (node.kind) {
      case NodeKind::Operation:
      case NodeKind::OneOf:
      case NodeKind::Repeat:
      case NodeKind::Lanes:
      case NodeKind::Stacked:
      case NodeKind::Through:
        return false;
      default:
        return true;
    }
  }

  bool leaf(const PatternNode& node, UOpRef subject) {
    if (!passes_filter(node.dtypes, subject->dtype)) return false;
    switch (node.kind) {
      case NodeKind::Capture:
        return bind(node.capture, subject);
      case NodeKind::Literal: {
        const ir::ConstValue* value = as_const(subject);
        return value != nullptr && *value == wrap_literal(subject->dtype, node.value);
      }
      case NodeKind::AnySources:
        return subject->is(node.op);
      case NodeKind::AnyNode:
        return true;
      default:
        return false;  // val, log2, vmin, vmax have no place on a left side, rest none but at its root's end
    }
  }

  bool prove(const Goal* goal) {
    for (; goal != nullptr; goal = goal->next) {
      const PatternNode& node = pattern_[goal->node];
      if (!is_leaf(node)) return prove_sources(*goal, node);
      if (!leaf(node, goal->subject)) return false;
    }
    return accept_(match_);
  }

  // One way after the other; what a failed way bound is forgotten.
  bool prove_sources(const Goal& goal, const PatternNode& node) {
    const UOpRef subject = goal.subject;
    if (node.kind == NodeKind::Repeat) return prove_repeat(goal, node);
    if (node.kind == NodeKind::Lanes) return prove_lanes(goal, node);
    if (node.kind == NodeKind::Stacked) return prove_stacked(goal, node);
    if (!passes_filter(node.dtypes, subject->dtype)) return false;
    const int mark = num_bound_;
    if (node.kind == NodeKind::OneOf) {
      for (int s = 0; s < node.num_sources; ++s) {
        const Goal one{node.sources[s], subject, goal.next};
        if (prove(&one)) return true;
        undo(mark);
      }
      return false;
    }
    if (!subject->is(node.op)) return false;
    if (node.kind == NodeKind::Through) {
      match_.through = subject->dtype;
      const Goal source{node.sources[0], subject->source(0), goal.next};
      return prove(&source);
    }
    const NodeKind last = node.num_sources > 0 ? pattern_[node.sources[node.num_sources - 1]].kind : NodeKind::Literal;
    const bool has_rest = last == NodeKind::Rest, repeats = last == NodeKind::Repeat || last == NodeKind::Lanes;
    const auto wanted = static_cast<std::uint8_t>(node.num_sources - (has_rest ? 1 : 0));
    if (const std::size_t arity = subject->sources.size(); repeats || has_rest ? arity < wanted : arity != wanted)
      return false;
    if (node.op == Op::Cast && !unify(subject->dtype)) return false;
    std::array<Goal, 4> goals;
    const Goal* first = goal.next;
    for (std::uint8_t s = wanted; s-- > 0;) {
      const bool whole = (repeats && s + 1 == wanted) || pattern_[node.sources[s]].kind == NodeKind::Stacked;
      goals[s] = {node.sources[s], whole ? subject : subject->source(s), first, s};
      first = &goals[s];
    }
    if (prove(first)) return true;
    if (node.num_sources != 2 || !ir::is_commutative(node.op) || subject->source(0) == subject->source(1)) return false;
    undo(mark);
    std::swap(goals[0].subject, goals[1].subject);
    return prove(first);
  }

  bool prove_repeat(const Goal& goal, const PatternNode& node) {
    const std::span<const UOpRef> sources = goal.subject->sources;
    const PatternNode& each = pattern_[node.sources[0]];
    if (is_leaf(each)) {
      for (UOpRef source : sources.subspan(goal.from)) {
        if (!leaf(each, source)) return false;
      }
      return prove(goal.next);
    }
    if (sources.size() > kMaxRepeats) return false;
    const Goal rest{goal.node, goal.subject, goal.next, goal.from + 1};
    const Goal one{node.sources[0], sources[goal.from], goal.from + 1 == sources.size() ? goal.next : &rest};
    return prove(&one);
  }

  // The sources of a stack.
  bool prove_lanes(const Goal& goal, const PatternNode& node) {
    const std::span<const UOpRef> sources = goal.subject->sources;
    for (std::size_t lane = 0; lane < sources.size(); ++lane) {
      const bool is_lane = sources[lane]->is(Op::Extract) && sources[lane]->as<ir::LaneInfo>().lane == lane;
      if (!is_lane || sources[lane]->source(0) != sources[0]->source(0)) return false;
    }
    const Goal vector{node.sources[0], sources[0]->source(0), goal.next};
    return prove(&vector);
  }

  // An extract of a stack.
  bool prove_stacked(const Goal& goal, const PatternNode& node) {
    const UOpRef stack = goal.subject->source(0);
    if (!stack->is(Op::Stack)) return false;
    const Goal source{node.sources[0], stack->source(goal.subject->as<ir::LaneInfo>().lane), goal.next};
    return prove(&source);
  }

  static constexpr std::uint8_t kElement = kNumCaptures;
  const Pattern& pattern_;
  DTypeSet dtypes_;
  absl::FunctionRef<bool(const Match&)> accept_;
  Match match_;
  std::array<std::uint8_t, kNumCaptures + 1> bound_{};  // in order of binding
  int num_bound_ = 0;
};

}  // namespace

bool match(const Pattern& pattern, DTypeSet dtypes, UOpRef node, absl::FunctionRef<bool(const Match&)> accept) {
  return Matcher(pattern, dtypes, accept).run(node);
}

}  // namespace hearth::rewrite
