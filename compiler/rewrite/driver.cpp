#include "compiler/rewrite/driver.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/text.h"

namespace hearth::rewrite {

using ir::UOpRef;

namespace {

thread_local FireObserver* observer = nullptr;

class Driver {
 public:
  Driver(ir::Graph& graph, const RuleSet& rules, const RewriteOptions& options, bool fix_point)
      : graph_(graph),
        context_(graph),
        rules_(rules),
        options_(options),
        fix_point_(fix_point),
        // Who counts what fires sees everything again.
        memo_(fix_point && options.fire_counts == nullptr && observer == nullptr ? graph.rewritten(rules.number())
                                                                                 : own_memo_) {
    if (options.fire_counts != nullptr) options.fire_counts->resize(rules.rules().size(), 0);
  }

  absl::StatusOr<UOpRef> run(UOpRef root) {
    stack_.push_back({root, nullptr, Stage::kEnter});
    while (!stack_.empty()) {
      const Frame frame = stack_.back();
      stack_.pop_back();
      switch (frame.stage) {
        case Stage::kEnter:
          enter(frame.node);
          break;
        case Stage::kRebuild:
          HEARTH_RETURN_IF_ERROR(rebuild(frame.node));
          break;
        case Stage::kAlias:
          set(frame.node, get(frame.result));
          break;
      }
    }
    return get(root);
  }

 private:
  enum class Stage : std::uint8_t { kEnter, kRebuild, kAlias };
  struct Frame {
    UOpRef node;
    UOpRef result;
    Stage stage;
  };

  UOpRef get(UOpRef node) const { return node->id < memo_.size() ? memo_[node->id] : nullptr; }
  void set(UOpRef node, UOpRef result) {
    if (node->id >= memo_.size()) memo_.resize(graph_.size());
    memo_[node->id] = result;
  }

  void enter(UOpRef node) {
    if (get(node) != nullptr) return;
    if (node->is(ir::Op::Stage)) return set(node, node);
    stack_.push_back({node, nullptr, Stage::kRebuild});
    for (std::size_t s = node->sources.size(); s-- > 0;) {
      if (get(node->source(s)) == nullptr) stack_.push_back({node->source(s), nullptr, Stage::kEnter});
    }
  }

  absl::Status rebuild(UOpRef node) {
    if (get(node) != nullptr) return absl::OkStatus();
    sources_.clear();
    bool changed = false;
    for (UOpRef source : node->sources) {
      sources_.push_back(get(source));
      changed |= sources_.back() != source;
    }
    ir::ProvenanceScope provenance(graph_, node->provenance);
    const UOpRef rebuilt = changed ? graph_.with_sources(node, sources_) : node;
    if (rebuilt != node) {
      if (UOpRef known = get(rebuilt)) {
        set(node, known);
        return absl::OkStatus();
      }
    }
    const RuleSet::Result result = rules_.apply(context_, rebuilt);
    if (result.node == nullptr) {
      set(rebuilt, rebuilt);
      set(node, rebuilt);
      return absl::OkStatus();
    }
    last_[fired_++ % last_.size()] = result.rule;
    if (options_.fire_counts != nullptr) ++(*options_.fire_counts)[result.rule];
    if (observer != nullptr) observer->fired(rules_.rules()[result.rule], rebuilt, result.node);
    if (fired_ > options_.max_rewrites) return exhausted(rebuilt);
    if (!fix_point_) {
      set(rebuilt, result.node);
      set(node, result.node);
      return absl::OkStatus();
    }
    stack_.push_back({node, result.node, Stage::kAlias});
    if (rebuilt != node) stack_.push_back({rebuilt, result.node, Stage::kAlias});
    stack_.push_back({result.node, nullptr, Stage::kEnter});
    return absl::OkStatus();
  }

  absl::Status exhausted(UOpRef node) const {
    std::string names;
    const std::uint64_t count = std::min<std::uint64_t>(fired_, last_.size());
    for (std::uint64_t i = fired_ - count; i < fired_; ++i) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(rules_.rules()[last_[i % last_.size()]].name));
    }
    return absl::ResourceExhaustedError(absl::StrCat("rewriting did not end within ", options_.max_rewrites,
                                                     " rewrites at ", ir::describe(node, 3),
                                                     "; last rules fired: ", names));
  }

  ir::Graph& graph_;
  Context context_;
  const RuleSet& rules_;
  const RewriteOptions& options_;
  const bool fix_point_;
  std::vector<UOpRef> own_memo_;
  std::vector<UOpRef>& memo_;  // by a node's number: what it became at last
  std::vector<Frame> stack_;
  std::vector<UOpRef> sources_;
  std::uint64_t fired_ = 0;
  std::array<std::size_t, 8> last_{};
};

}  // namespace

FireObserver::FireObserver() { observer = this; }
FireObserver::~FireObserver() { observer = nullptr; }

absl::StatusOr<UOpRef> rewrite(ir::Graph& graph, UOpRef root, const RuleSet& rules, const RewriteOptions& options) {
  return Driver(graph, rules, options, true).run(root);
}

absl::StatusOr<UOpRef> walk(ir::Graph& graph, UOpRef root, const RuleSet& rules, const RewriteOptions& options) {
  return Driver(graph, rules, options, false).run(root);
}

}  // namespace hearth::rewrite
