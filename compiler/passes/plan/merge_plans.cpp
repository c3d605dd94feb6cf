// merged() of passes/plan/alternatives.
#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "compiler/ir/shape.h"
#include "compiler/passes/import/import.h"
#include "compiler/passes/import/import_expr.h"
#include "compiler/passes/plan/alternatives.h"
#include "compiler/passes/plan/plan_build.h"
#include "compiler/passes/report.h"

namespace hearth::passes {
namespace {

using ir::UOpRef;
using Part = Alternative::Part;

constexpr std::uint64_t kAlignment = 64;  // of offsets, as plan.proto has them

void push(v1::Expr& expr, v1::ExprToken::Kind kind, std::int64_t value = 0) {
  v1::ExprToken& token = *expr.add_tokens();
  token.set_kind(kind);
  token.set_value(value);
}

// Appends 1 where variable `var` is `value`, else 0.
void push_is(v1::Expr& expr, std::int64_t var, std::int64_t value) {
  push(expr, v1::ExprToken::CONST, 1);
  push(expr, v1::ExprToken::VAR, var), push(expr, v1::ExprToken::CONST, value), push(expr, v1::ExprToken::SUB);
  push(expr, v1::ExprToken::CONST, value), push(expr, v1::ExprToken::VAR, var), push(expr, v1::ExprToken::SUB);
  push(expr, v1::ExprToken::MAX);                                       // the distance
  push(expr, v1::ExprToken::CONST, 0), push(expr, v1::ExprToken::MAX);  // for who looks at bounds alone
  push(expr, v1::ExprToken::CONST, 1), push(expr, v1::ExprToken::MIN);
  push(expr, v1::ExprToken::SUB);
}

// Multiplies the expression by 1 where the variable's value belongs to the part, else by 0.
void multiply_by_membership(v1::Expr& expr, std::int64_t var, const v1::Variable& variable, const Part& part) {
  if (part.least == part.greatest) {
    if (variable.min() == variable.max()) return;
    push_is(expr, var, part.least);
    push(expr, v1::ExprToken::MUL);
    return;
  }
  if (part.least > variable.min()) {  // min(max(var - least + 1, 0), 1)
    push(expr, v1::ExprToken::VAR, var), push(expr, v1::ExprToken::CONST, part.least - 1);
    push(expr, v1::ExprToken::SUB), push(expr, v1::ExprToken::CONST, 0), push(expr, v1::ExprToken::MAX);
    push(expr, v1::ExprToken::CONST, 1), push(expr, v1::ExprToken::MIN), push(expr, v1::ExprToken::MUL);
  }
  if (part.greatest < variable.max()) {
    push(expr, v1::ExprToken::CONST, part.greatest + 1), push(expr, v1::ExprToken::VAR, var);
    push(expr, v1::ExprToken::SUB), push(expr, v1::ExprToken::CONST, 0), push(expr, v1::ExprToken::MAX);
    push(expr, v1::ExprToken::CONST, 1), push(expr, v1::ExprToken::MIN), push(expr, v1::ExprToken::MUL);
  }
  for (const std::int64_t value : part.without) {
    push(expr, v1::ExprToken::CONST, 1);
    push_is(expr, var, value);
    push(expr, v1::ExprToken::SUB), push(expr, v1::ExprToken::MUL);
  }
}

// Persistent buffers of a plan that launches made once bring together, and those launches.
struct OnceGroup {
  std::vector<std::uint32_t> buffers;
  std::vector<int> launches;
};

std::vector<OnceGroup> once_groups(const v1::Plan& plan) {
  std::vector<std::uint32_t> group_of(static_cast<std::size_t>(plan.buffers_size()));
  std::iota(group_of.begin(), group_of.end(), 0u);
  const auto root = [&](std::uint32_t buffer) {
    while (group_of[buffer] != buffer) buffer = group_of[buffer] = group_of[group_of[buffer]];
    return buffer;
  };
  const auto persistent_of = [&](const v1::Launch& launch) {
    std::vector<std::uint32_t> buffers;
    std::ranges::copy_if(launch.buffers(), std::back_inserter(buffers), [&](std::uint32_t buffer) {
      return plan.buffers(static_cast<int>(buffer)).kind() == v1::PlanBuffer::PERSISTENT;
    });
    return buffers;
  };
  for (const v1::Launch& launch : plan.launches()) {
    if (!launch.once()) continue;
    const std::vector<std::uint32_t> buffers = persistent_of(launch);
    for (const std::uint32_t buffer : buffers) group_of[root(buffer)] = root(buffers.front());
  }
  std::map<std::uint32_t, OnceGroup> groups;
  for (int i = 0; i < plan.buffers_size(); ++i) {
    const auto buffer = static_cast<std::uint32_t>(i);
    if (plan.buffers(i).kind() == v1::PlanBuffer::PERSISTENT) groups[root(buffer)].buffers.push_back(buffer);
  }
  for (int i = 0; i < plan.launches_size(); ++i) {
    const std::vector<std::uint32_t> buffers = persistent_of(plan.launches(i));
    if (plan.launches(i).once() && !buffers.empty()) groups.at(root(buffers.front())).launches.push_back(i);
  }
  std::vector<OnceGroup> all;
  for (auto& [first, group] : groups) all.push_back(std::move(group));
  return all;
}

bool has_name(const v1::PlanBuffer& buffer) {
  return buffer.kind() == v1::PlanBuffer::INPUT || buffer.kind() == v1::PlanBuffer::OUTPUT ||
         buffer.kind() == v1::PlanBuffer::PARAMETER;
}

v1::PlanBuffer named_buffer(v1::PlanBuffer::Kind kind, const std::string& name, ir::DType dtype,
                            const std::vector<UOpRef>& shape) {
  v1::PlanBuffer buffer;
  buffer.set_kind(kind);
  buffer.set_name(name);
  buffer.set_dtype(static_cast<v1::DType>(dtype.scalar));
  unsigned __int128 bytes = static_cast<unsigned>(byte_size(dtype));
  for (UOpRef length : shape) {
    *buffer.add_shape() = export_length(length);
    bytes = std::min(bytes * static_cast<std::uint64_t>(std::max<std::int64_t>(length->bounds.max, 0)),
                     static_cast<unsigned __int128>(INT64_MAX));
  }
  buffer.set_max_bytes(static_cast<std::uint64_t>(bytes));
  return buffer;
}

// Inputs, parameters and outputs with their shapes over all values of the variables.
absl::StatusOr<std::vector<v1::PlanBuffer>> named_buffers(const v1::Graph& graph) {
  ir::Graph g;
  HEARTH_ASSIGN_OR_RETURN(const ImportedGraph imported, import_graph(g, graph));
  std::vector<v1::PlanBuffer> all;
  for (const ImportedBuffer& b : imported.buffers) {
    if (b.kind == ir::BufferKind::Input) all.push_back(named_buffer(v1::PlanBuffer::INPUT, b.name, b.dtype, b.shape));
    if (b.kind == ir::BufferKind::Parameter)
      all.push_back(named_buffer(v1::PlanBuffer::PARAMETER, b.name, b.dtype, b.shape));
  }
  ir::ShapeCache shapes(g);
  for (std::size_t i = 0; i < imported.outputs.size(); ++i) {
    all.push_back(named_buffer(v1::PlanBuffer::OUTPUT, imported.output_names[i], imported.outputs[i]->dtype,
                               shapes.of(imported.outputs[i])));
  }
  return all;
}

class Merger {
 public:
  Merger(const v1::Graph& graph, const std::vector<v1::PlanBuffer>& whole) : graph_(graph), whole_(whole) {}

  void add(const Alternative& alternative, v1::LoweredPlan& from) {
    parts_ = &alternative.parts;
    const v1::Plan& plan = from.plan();
    to().set_version(std::max(to().version(), plan.version()));
    *to().mutable_target() = plan.target();
    to().set_arena_bytes(std::max(to().arena_bytes(), plan.arena_bytes()));
    kernels_.clear(), buffers_.assign(static_cast<std::size_t>(plan.buffers_size()), 0);
    first_loop_ = static_cast<std::uint32_t>(to().loops_size());
    add_kernels(from);
    add_buffers(plan);
    for (const OnceGroup& group : once_groups(plan)) add_group(plan, group);
    add_views(plan);
    add_launches(plan);
    for (v1::PassReport& pass : *from.mutable_passes()) out_.add_passes()->Swap(&pass);
    out_.mutable_warnings()->MergeFrom(from.warnings());
    out_.mutable_notes()->MergeFrom(from.notes());
  }

  v1::LoweredPlan take() {
    *to().mutable_vars() = graph_.vars();
    for (v1::Variable& variable : *to().mutable_vars()) variable.clear_ends(), variable.clear_points();
    return std::move(out_);
  }

 private:
  v1::Plan& to() { return *out_.mutable_plan(); }
  std::uint32_t moved(std::uint32_t buffer) const { return buffers_[buffer]; }

  void add_kernels(v1::LoweredPlan& from) {
    for (int i = 0; i < from.kernels_size(); ++i) {
      const auto [known, is_new] = by_symbol_.try_emplace(from.kernels(i).symbol(), out_.kernels_size());
      kernels_.push_back(static_cast<std::uint32_t>(known->second));
      if (!is_new) continue;
      *to().add_kernels() = from.plan().kernels(i);
      out_.add_kernels()->Swap(from.mutable_kernels(i));
      out_.add_kernel_sources(from.kernel_sources(i));
      *out_.add_choices() = from.choices(i);
      *out_.add_kernel_costs() = from.kernel_costs(i);
    }
  }

  // Over the plan's variables, each taken as the nearest value of the part.
  v1::Expr within_part(const v1::Expr& expr) const {
    v1::Expr result;
    for (const v1::ExprToken& token : expr.tokens()) {
      *result.add_tokens() = token;
      if (token.kind() != v1::ExprToken::VAR) continue;
      const Part& part = (*parts_)[static_cast<std::size_t>(token.value())];
      const v1::Variable& variable = graph_.vars(static_cast<int>(token.value()));
      if (part.least > variable.min()) push(result, v1::ExprToken::CONST, part.least), push(result, v1::ExprToken::MAX);
      if (part.greatest < variable.max())
        push(result, v1::ExprToken::CONST, part.greatest), push(result, v1::ExprToken::MIN);
    }
    return result;
  }
  v1::Expr only_for_part(const v1::Expr& expr) const {
    v1::Expr result = within_part(expr);
    for (int var = 0; var < graph_.vars_size(); ++var)
      multiply_by_membership(result, var, graph_.vars(var), (*parts_)[static_cast<std::size_t>(var)]);
    return result;
  }

  void add_buffers(const v1::Plan& plan) {
    for (int i = 0; i < plan.buffers_size(); ++i) {
      const v1::PlanBuffer& from = plan.buffers(i);
      if (from.kind() == v1::PlanBuffer::PERSISTENT) continue;
      v1::PlanBuffer shown = from;
      for (v1::Expr& length : *shown.mutable_shape()) length = within_part(length);
      if (has_name(from)) {
        const auto is_it = [&](const v1::PlanBuffer& b) { return b.kind() == from.kind() && b.name() == from.name(); };
        if (const auto whole = std::ranges::find_if(whole_, is_it); whole != whole_.end()) shown = *whole;
      }
      std::uint32_t& place = buffers_[static_cast<std::size_t>(i)];
      place = static_cast<std::uint32_t>(to().buffers_size());
      if (has_name(from) || from.kind() == v1::PlanBuffer::CONSTANT) {
        const auto [known, is_new] = shared_.try_emplace(shown.SerializeAsString(), place);
        place = known->second;
        if (!is_new) continue;
      }
      to().add_buffers()->Swap(&shown);
    }
  }

  // What the buffers of a group hold: equal for groups that equal launches make of the same.
  std::string recipe_of(const v1::Plan& plan, const OnceGroup& group) const {
    std::string recipe;
    for (const std::uint32_t buffer : group.buffers) {
      v1::PlanBuffer form = plan.buffers(static_cast<int>(buffer));
      form.clear_offset();
      recipe += form.SerializeAsString() + ';';
    }
    for (const int i : group.launches) {
      v1::Launch form = plan.launches(i);
      form.set_kernel(kernels_[form.kernel()]);
      for (std::uint32_t& buffer : *form.mutable_buffers()) {
        const auto own = std::ranges::find(group.buffers, buffer);
        const auto number = static_cast<std::uint32_t>(own - group.buffers.begin());
        buffer = own == group.buffers.end() ? 2 * moved(buffer) : 2 * number + 1;
      }
      recipe += form.SerializeAsString() + ';';
    }
    return recipe;
  }

  void add_group(const v1::Plan& plan, const OnceGroup& group) {
    const auto [known, is_new] = groups_.try_emplace(recipe_of(plan, group));
    for (std::size_t i = 0; i < group.buffers.size(); ++i) {
      if (is_new) {
        v1::PlanBuffer& added = *to().add_buffers();
        added = plan.buffers(static_cast<int>(group.buffers[i]));
        added.set_offset(to().persistent_bytes());
        to().set_persistent_bytes(to().persistent_bytes() +
                                  (added.max_bytes() + kAlignment - 1) / kAlignment * kAlignment);
        known->second.push_back(static_cast<std::uint32_t>(to().buffers_size() - 1));
      }
      buffers_[group.buffers[i]] = known->second[i];
    }
    if (!is_new) made_before_.insert(group.launches.begin(), group.launches.end());
  }

  void add_views(const v1::Plan& plan) {
    for (int i = 0; i < plan.buffers_size(); ++i) {
      if (plan.buffers(i).kind() != v1::PlanBuffer::VIEW) continue;
      v1::LoopView& view =
          *to().mutable_buffers(static_cast<int>(buffers_[static_cast<std::size_t>(i)]))->mutable_view();
      view.set_loop(first_loop_ + view.loop());
      view.set_buffer(moved(view.buffer()));
      view.set_other(moved(view.other()));
    }
  }

  void add_launches(const v1::Plan& plan) {
    std::vector<std::uint32_t> places;  // of the plan's launches
    for (int i = 0; i < plan.launches_size(); ++i) {
      places.push_back(static_cast<std::uint32_t>(to().launches_size()));
      if (made_before_.contains(i)) continue;
      v1::Launch& added = *to().add_launches();
      added = plan.launches(i);
      added.set_kernel(kernels_[added.kernel()]);
      for (std::uint32_t& buffer : *added.mutable_buffers()) buffer = moved(buffer);
      for (v1::LaunchCondition& condition : *added.mutable_run_if()) condition.set_buffer(moved(condition.buffer()));
      if (added.once()) continue;
      *added.mutable_grid() = only_for_part(added.grid());
      if (added.has_min_units_at()) *added.mutable_min_units_at() = within_part(added.min_units_at());
      if (!added.has_num_ops())
        push(*added.mutable_num_ops(), v1::ExprToken::CONST,
             static_cast<std::int64_t>(to().kernels(static_cast<int>(added.kernel())).num_ops()));
      *added.mutable_num_ops() = only_for_part(added.num_ops());
    }
    made_before_.clear();
    for (const v1::PlanLoop& from : plan.loops()) {
      v1::PlanLoop& loop = *to().add_loops();
      loop = from;
      loop.set_first_launch(places[from.first_launch()]);
      v1::Expr& count = *loop.mutable_count();
      count = only_for_part(count);  // one step of no units where it does not run
      push(count, v1::ExprToken::CONST, 1), push(count, v1::ExprToken::MAX);
    }
    for (const v1::ParallelRegion& from : plan.regions()) {
      v1::ParallelRegion& region = *to().add_regions();
      region = from;
      region.set_first_launch(places[from.first_launch()]);
      if (region.has_min_units_at()) *region.mutable_min_units_at() = within_part(region.min_units_at());
    }
  }

  const v1::Graph& graph_;
  const std::vector<v1::PlanBuffer>& whole_;
  v1::LoweredPlan out_;
  std::map<std::string, int> by_symbol_;
  std::map<std::string, std::uint32_t> shared_;               // buffers, by all that they are
  std::map<std::string, std::vector<std::uint32_t>> groups_;  // buffers made once, by what they hold
  // The alternative at hand: its variables' parts, where its kernels and buffers lie in the merged plan, and which
  // launches of other alternatives its own ones equal.
  const std::vector<Part>* parts_ = nullptr;
  std::vector<std::uint32_t> kernels_, buffers_;
  std::uint32_t first_loop_ = 0;
  std::set<int> made_before_;
};

}  // namespace

absl::StatusOr<v1::LoweredPlan> merged(const v1::Graph& graph, const std::vector<Alternative>& alternatives,
                                       std::vector<v1::LoweredPlan> plans) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<v1::PlanBuffer> whole, named_buffers(graph));
  Merger merger(graph, whole);
  for (std::size_t i = 0; i < alternatives.size(); ++i) merger.add(alternatives[i], plans[i]);
  return merger.take();
}

}  // namespace hearth::passes
