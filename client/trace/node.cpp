#include "client/trace/node.h"

#include "base/text.h"
#include "client/tensor/op_scope.h"

namespace hearth::client {
namespace {

constexpr std::size_t kMaxRank = 32;

thread_local ScopedLocation* innermost = nullptr;
thread_local std::string_view innermost_text;

}  // namespace

ScopedLocation::ScopedLocation(std::string text, bool instead_of_lines)
    : text_(std::move(text)), instead_of_lines_(instead_of_lines), previous_(innermost) {
  innermost = this;
  innermost_text = text_;
}

ScopedLocation::~ScopedLocation() {
  innermost = previous_;
  innermost_text = previous_ ? std::string_view(previous_->text_) : std::string_view();
}

std::string_view ScopedLocation::current() { return innermost_text; }
bool ScopedLocation::hides_lines() { return innermost != nullptr && innermost->instead_of_lines_; }

Node::~Node() {
  // A chain of nodes would otherwise be destroyed recursively, one stack frame a node.
  std::vector<Tensor> pending;
  pending.swap(inputs);
  while (!pending.empty()) {
    Tensor tensor = std::move(pending.back());
    pending.pop_back();
    if (tensor.empty() || tensor.node().use_count() != 1) continue;
    auto& node = const_cast<Node&>(*tensor.node());  // the last handle: nobody else sees it change
    for (Tensor& input : node.inputs) pending.push_back(std::move(input));
    node.inputs.clear();
  }
}

Tensor make_node(Node node, const Loc& loc) {
  if (node.shape.size() > kMaxRank) {
    fail("record", str_cat("the result has ", node.shape.size(), " axes; at most ", kMaxRank, " are supported"), loc);
  }
  for (const Dim& dim : node.shape) {
    if (dim.min() < 0) {
      fail("record",
           str_cat("the result's shape ", to_string(node.shape), " has the length ", dim.to_string(),
                   ", which may be negative"),
           loc);
    }
  }
  num_elements(node.shape);  // refuses element counts beyond 64 bits
  const OpScope* outer = OpScope::outermost();
  const std::string_view scope = ScopedLocation::current();
  node.provenance = scope.empty() ? describe(outer ? outer->loc() : loc) : std::string(scope);
  if (outer) {
    node.called = outer->op();
    node.call = outer->call();
  }
  return Tensor(std::make_shared<const Node>(std::move(node)));
}

}  // namespace hearth::client
