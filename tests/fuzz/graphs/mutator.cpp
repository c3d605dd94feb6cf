#include "tests/fuzz/graphs/mutator.h"

#include <string>

#include "tests/conformance/ops/feeds.h"

namespace hearth::test {
namespace {

using conformance::Random;

class Mutator {
 public:
  Mutator(v1::Graph& graph, std::uint64_t seed) : graph_(graph), random_(seed) {}

  void mutate() {
    if (graph_.loops_size() > 0 && random_.one_in(2)) return change_loop();
    switch (random_.in(0, 15)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return change_expression();
      case 4:
        return change_args();
      case 5:
      case 6:
        return change_variable();
      case 7:
        return change_inputs();
      case 8:
      case 9:
        return change_axes();
      case 10:
        return node().set_dtype(static_cast<v1::DType>(random_.in(-1, 17)));
      case 11:
        return change_op();
      case 12:
        return change_data();
      case 13:
        return change_output();
      case 14:
        return change_leaf_lengths();
      default:
        return change_rest();
    }
  }

  // One length of one leaf, and the same length wherever else it stands: mutants that are valid graphs of odd sizes.
  void change_leaf_lengths() {
    static const std::vector<std::int64_t> kLengths = {0, 1, 2, 5, 8, 16, 17, 33, 64, 100, 257};
    v1::Node& leaf = with_args();
    if (leaf.args_size() == 0) return;
    const v1::Expr old = leaf.args(position(leaf.args()));
    if (old.tokens_size() != 1 || old.tokens(0).kind() != v1::ExprToken::CONST) return;
    const std::int64_t from = old.tokens(0).value(), to = random_.pick(kLengths);
    for (v1::Node& n : *graph_.mutable_nodes()) {
      for (v1::Expr& expr : *n.mutable_args()) {
        for (v1::ExprToken& token : *expr.mutable_tokens()) {
          if (token.kind() == v1::ExprToken::CONST && token.value() == from) token.set_value(to);
        }
      }
    }
  }

 private:
  v1::Node& node() {
    if (graph_.nodes_size() == 0) return *graph_.add_nodes();
    return *graph_.mutable_nodes(static_cast<int>(random_.in(0, graph_.nodes_size() - 1)));
  }

  template <class Field>
  int position(const Field& field) {
    return static_cast<int>(random_.in(0, field.size() - 1));
  }

  std::int64_t odd_number() {
    static const std::vector<std::int64_t> kOdd = {0,
                                                   1,
                                                   2,
                                                   3,
                                                   -1,
                                                   -2,
                                                   7,
                                                   8,
                                                   16,
                                                   17,
                                                   64,
                                                   1000,
                                                   1 << 20,
                                                   INT32_MAX,
                                                   INT32_MIN,
                                                   1LL << 31,
                                                   1LL << 32,
                                                   1LL << 40,
                                                   1LL << 41,
                                                   1LL << 44,
                                                   1LL << 62,
                                                   INT64_MAX,
                                                   INT64_MIN,
                                                   INT64_MAX - 1,
                                                   (1LL << 40) - 1,
                                                   (1LL << 40) + 1};
    return random_.pick(kOdd);
  }

  // May be anything: a hostile client's numbers wrap.
  std::int64_t near(std::int64_t value) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(random_.in(-2, 2)));
  }

  void change_token(v1::Expr& expr) {
    switch (random_.in(0, 4)) {
      case 0: {  // one more
        v1::ExprToken& token = *expr.add_tokens();
        token.set_kind(static_cast<v1::ExprToken::Kind>(random_.in(-1, 9)));
        token.set_value(random_.one_in(2) ? odd_number() : random_.in(0, 3));
        return;
      }
      case 1:
        if (expr.tokens_size() > 0) expr.mutable_tokens()->DeleteSubrange(position(expr.tokens()), 1);
        return;
      case 2:
        if (expr.tokens_size() > 0) {
          expr.mutable_tokens(position(expr.tokens()))->set_kind(static_cast<v1::ExprToken::Kind>(random_.in(0, 9)));
        }
        return;
      default:
        if (expr.tokens_size() > 0) {
          v1::ExprToken& token = *expr.mutable_tokens(position(expr.tokens()));
          token.set_value(random_.one_in(2) ? odd_number() : near(token.value()));
        }
    }
  }

  // A well-formed one over what variables there are.
  v1::Expr any_expression() {
    v1::Expr expr;
    int depth = 0;
    for (std::int64_t i = random_.in(1, 7); i > 0 || depth > 1; --i) {
      v1::ExprToken& token = *expr.add_tokens();
      if (depth >= 2 && (i <= 0 || random_.one_in(2))) {
        token.set_kind(static_cast<v1::ExprToken::Kind>(random_.in(2, 8)));
        --depth;
        continue;
      }
      const bool variable = graph_.vars_size() > 0 && random_.one_in(2);
      token.set_kind(variable ? v1::ExprToken::VAR : v1::ExprToken::CONST);
      token.set_value(variable ? random_.in(0, graph_.vars_size() - 1) : random_.in(0, 9));
      ++depth;
    }
    return expr;
  }

  void change_expression() {
    v1::Node& n = with_args();
    if (n.args_size() == 0) return;
    v1::Expr& expr = *n.mutable_args(position(n.args()));
    if (random_.one_in(4)) {
      expr = any_expression();
    } else {
      change_token(expr);
    }
  }

  v1::Node& with_args() {
    for (int attempt = 0; attempt < 20; ++attempt) {
      v1::Node& n = node();
      if (n.args_size() > 0) return n;
    }
    return node();
  }

  void change_args() {
    v1::Node& n = with_args();
    switch (random_.in(0, 3)) {
      case 0:
        for (std::int64_t i = random_.one_in(4) ? 20 : 1; i > 0; --i) *n.add_args() = any_expression();
        return;
      case 1:
        if (n.args_size() > 0) n.mutable_args()->DeleteSubrange(position(n.args()), 1);
        return;
      case 2:
        if (n.args_size() > 1) n.mutable_args()->SwapElements(position(n.args()), position(n.args()));
        return;
      default:
        n.clear_args();
    }
  }

  void change_variable() {
    if (graph_.vars_size() == 0 || random_.one_in(6)) {
      v1::Variable& v = *graph_.add_vars();
      v.set_name(random_.one_in(3) ? "" : "new");
      v.set_max(random_.in(0, 9));
      return;
    }
    v1::Variable& v = *graph_.mutable_vars(position(graph_.vars()));
    switch (random_.in(0, 4)) {
      case 0:
        return v.set_min(random_.one_in(2) ? odd_number() : near(v.min()));
      case 1:
        return v.set_max(random_.one_in(2) ? odd_number() : near(v.max()));
      case 2: {
        const std::int64_t min = v.min();
        v.set_min(v.max());
        return v.set_max(min);
      }
      case 3:
        return v.set_max(v.min());
      default:
        return v.set_name(random_.one_in(2) ? "" : graph_.vars(0).name());
    }
  }

  void change_inputs() {
    v1::Node& n = node();
    const std::int64_t other = random_.one_in(4) ? odd_number() : random_.in(0, graph_.nodes_size() + 1);
    const std::int64_t what = random_.in(0, 3);
    if (what == 0) return n.add_inputs(static_cast<std::uint32_t>(other));
    if (n.inputs_size() == 0) return;
    if (what == 1) return n.mutable_inputs()->RemoveLast();
    n.set_inputs(position(n.inputs()), static_cast<std::uint32_t>(other));
  }

  void change_axes() {
    v1::Node* n = &node();
    for (int attempt = 0; attempt < 20 && n->axes_size() == 0; ++attempt) n = &node();
    const std::int64_t axis = random_.one_in(3) ? odd_number() : random_.in(-2, 5);
    const std::int64_t what = random_.in(0, 3);
    if (what == 0) return n->add_axes(axis);
    if (n->axes_size() == 0) return;
    if (what == 1) return n->mutable_axes()->RemoveLast();
    n->set_axes(position(n->axes()), axis);
  }

  void change_op() {
    static const std::vector<int> kOps = [] {
      std::vector<int> all = {0, 5, 999, -1};
      for (int op = 0; op < 200; ++op) {
        if (v1::Op_IsValid(op)) all.push_back(op);
      }
      return all;
    }();
    node().set_op(static_cast<v1::Op>(random_.pick(kOps)));
  }

  void change_data() {
    v1::Node& n = node();
    std::string data = n.data();
    switch (random_.in(0, 3)) {
      case 0:
        data.resize(static_cast<std::size_t>(random_.in(0, 40)), '\x7f');
        break;
      case 1:
        data += "x";
        break;
      case 2:
        data.clear();
        break;
      default:
        if (!data.empty()) data[static_cast<std::size_t>(position(data))] ^= static_cast<char>(random_.in(1, 255));
    }
    n.set_data(data);
  }

  void change_output() {
    if (graph_.outputs_size() == 0 || random_.one_in(5)) {
      graph_.add_outputs()->set_node(static_cast<std::uint32_t>(random_.in(0, graph_.nodes_size())));
      return;
    }
    v1::GraphOutput& output = *graph_.mutable_outputs(position(graph_.outputs()));
    switch (random_.in(0, 3)) {
      case 0:
        return output.set_node(static_cast<std::uint32_t>(odd_number()));
      case 1:
        return output.set_name("");
      case 2:
        return graph_.mutable_outputs()->RemoveLast();
      default:
        return output.set_node(static_cast<std::uint32_t>(random_.in(0, graph_.nodes_size() - 1)));
    }
  }

  void change_loop() {
    v1::Loop& loop = *graph_.mutable_loops(position(graph_.loops()));
    switch (random_.in(0, 9)) {
      case 0:
        return loop.set_carried(static_cast<std::uint32_t>(random_.one_in(2) ? odd_number() : random_.in(0, 4)));
      case 1:
        return loop.set_sliced(static_cast<std::uint32_t>(random_.one_in(2) ? odd_number() : random_.in(0, 4)));
      case 2:
        return loop.set_reverse(!loop.reverse());
      case 3:
        return loop.add_collected(random_.one_in(2));
      case 4: {
        v1::ExprToken& token = *loop.mutable_count()->add_tokens();
        token.set_kind(static_cast<v1::ExprToken::Kind>(random_.in(0, 8)));
        return token.set_value(odd_number());
      }
      case 5: {
        const v1::Loop copy = loop;
        *graph_.add_loops() = copy;
        return;
      }
      default:
        Mutator(*loop.mutable_body(), random_.next()).mutate();
    }
  }

  void change_rest() {
    switch (random_.in(0, 4)) {
      case 0:
        return graph_.set_version(static_cast<std::uint32_t>(random_.in(0, 3)));
      case 1: {
        v1::Provenance& p = *graph_.add_provenance();
        p.set_node(static_cast<std::uint32_t>(odd_number()));
        return p.set_text(std::string(static_cast<std::size_t>(random_.in(0, 2000)), 'p'));
      }
      case 2: {  // later nodes refer to others than before
        if (graph_.nodes_size() == 0) return;
        return graph_.mutable_nodes()->DeleteSubrange(position(graph_.nodes()), 1);
      }
      case 3:
        if (graph_.nodes_size() > 1) {
          graph_.mutable_nodes()->SwapElements(position(graph_.nodes()), position(graph_.nodes()));
        }
        return;
      default:
        return node().set_name(random_.one_in(2) ? "" : "in0");
    }
  }

  v1::Graph& graph_;
  Random random_;
};

}  // namespace

v1::Graph mutated(v1::Graph graph, std::uint64_t seed) {
  Mutator mutator(graph, seed * 2654435761U + 12345);
  if (seed % 4 == 0) mutator.change_leaf_lengths();  // mostly valid: those that reach the kernels
  for (std::uint64_t i = 0; i < seed % 4; ++i) mutator.mutate();
  return graph;
}

}  // namespace hearth::test
