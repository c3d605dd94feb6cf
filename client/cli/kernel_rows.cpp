#include "client/cli/kernel_rows.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text.h"
#include "client/cli/format.h"
#include "proto/launch_runs.h"
#include "runtime/devices/devices.h"
#include "runtime/plan/expr.h"

namespace hearth::cli {
namespace {

constexpr std::string_view kOnnxNode = "ONNX node '", kOnnxInput = "ONNX input '";

// Launches of a replay at these values of the variables: those that have units, as often as steps of loops say.
void count_launches(const v1::Plan& plan, const std::vector<std::int64_t>& values, std::vector<KernelRow>& rows) {
  std::vector<std::uint64_t> runs = launch_runs(plan);
  std::vector<runtime::PlanVariable> vars;
  for (const v1::Variable& variable : plan.vars()) vars.push_back({variable.name(), variable.min(), variable.max(), 1});
  for (const v1::PlanLoop& loop : plan.loops()) {
    const absl::StatusOr<runtime::Expr> count = runtime::Expr::compile(loop.count(), vars);
    if (!count.ok()) continue;  // runs at the upper bounds are what is known
    for (std::uint32_t i = 0; i < loop.num_launches(); ++i)
      runs[loop.first_launch() + i] = static_cast<std::uint64_t>(count->evaluate(values.data()));
  }
  for (int i = 0; i < plan.launches_size(); ++i) {
    const absl::StatusOr<runtime::Expr> grid = runtime::Expr::compile(plan.launches(i).grid(), vars);
    if (grid.ok() && grid->evaluate(values.data()) == 0) runs[static_cast<std::size_t>(i)] = 0;
  }
  for (KernelRow& row : rows) {
    if (!row.once) row.launches = 0;
  }
  for (int i = 0; i < plan.launches_size(); ++i) {
    const v1::Launch& launch = plan.launches(i);
    if (!launch.once() && !rows[launch.kernel()].once)
      rows[launch.kernel()].launches += runs[static_cast<std::size_t>(i)];
  }
}

void count_conditional(const v1::Plan& plan, std::vector<KernelRow>& rows) {
  for (const v1::Launch& launch : plan.launches()) {
    if (!launch.run_if().empty() && launch.kernel() < rows.size()) ++rows[launch.kernel()].conditional;
  }
}

}  // namespace

std::vector<KernelRow> kernel_rows(const v1::ExplainResponse& explained, const std::vector<std::int64_t>& values) {
  std::vector<KernelRow> rows;
  const bool is_of_gpu = explained.plan().target().has_gpu();
  const bool has_cycles = is_of_gpu || runtime::runs_on_host(explained.plan().target().device());
  for (const v1::ExplainedKernel& kernel : explained.kernels()) {
    KernelRow& row = rows.emplace_back();
    row.place = static_cast<std::uint32_t>(rows.size() - 1);
    row.symbol = kernel.symbol();
    row.source = kernel.source();
    row.launches = kernel.launches();
    row.once = kernel.once();
    row.ops = static_cast<double>(kernel.cost().ops());
    row.bytes = static_cast<double>(kernel.cost().bytes_read() + kernel.cost().bytes_written());
    row.guarded = kernel.cost().guarded();
    if (is_of_gpu) {
      row.occupancy_percent = static_cast<int>(kernel.cost().occupancy_percent());
      row.shared_bytes = kernel.cost().shared_bytes();
    }
    if (!has_cycles) continue;
    row.cycles = static_cast<double>(kernel.cost().cycles());
    row.least_cycles = static_cast<double>(kernel.cost().least_cycles());
  }
  if (!values.empty()) count_launches(explained.plan(), values, rows);
  count_conditional(explained.plan(), rows);
  return rows;
}

std::vector<KernelRow> kernel_rows(const v1::Plan& plan) {
  std::vector<KernelRow> rows;
  for (const v1::PlanKernel& kernel : plan.kernels()) {
    KernelRow& row = rows.emplace_back();
    row.place = static_cast<std::uint32_t>(rows.size() - 1);
    row.symbol = kernel.symbol();
    row.ops = static_cast<double>(kernel.num_ops());
  }
  const std::vector<std::uint64_t> runs = launch_runs(plan);
  for (int i = 0; i < plan.launches_size(); ++i) {
    KernelRow& row = rows[plan.launches(i).kernel()];
    row.once = plan.launches(i).once();
    row.launches += runs[static_cast<std::size_t>(i)];
  }
  count_conditional(plan, rows);
  return rows;
}

void add_times(const KernelTimes& times, std::vector<KernelRow>* rows) {
  for (const KernelTime& time : times.kernels) {
    if (time.kernel >= rows->size()) continue;
    (*rows)[time.kernel].time_us = time.time_us;
    (*rows)[time.kernel].launches = time.launches;
    (*rows)[time.kernel].units = time.units;
  }
}

std::string short_symbol(const std::string& symbol) {
  constexpr std::string_view kPrefix = "hearth_";
  return symbol.rfind(kPrefix, 0) == 0 ? symbol.substr(kPrefix.size()) : symbol;
}

std::string KernelRow::runs() const {
  if (once) return "once";
  return conditional == 0 ? std::to_string(launches)
                          : str_cat(launches - std::min(conditional, launches), " to ", launches);
}

std::string KernelRow::node() const { return short_source(source.substr(0, source.find("; "))); }

std::string KernelRow::operator_name() const {
  const std::string name = node();
  const std::size_t bracket = name.rfind('(');
  const bool is_onnx = source.rfind(kOnnxNode, 0) == 0 && bracket != std::string::npos && name.back() == ')';
  return is_onnx ? name.substr(bracket + 1, name.size() - bracket - 2) : name;
}

std::string KernelRow::from() const {
  std::size_t others = 0;
  for (std::size_t at = source.find("; "); at != std::string::npos; at = source.find("; ", at + 1))
    others += source.compare(at + 2, kOnnxInput.size(), kOnnxInput) != 0 ? 1 : 0;
  return others == 0 ? node() : str_cat(node(), " +", others);
}

std::string short_source(const std::string& source) {
  // ONNX node 'conv1' (Conv); ONNX node 'relu1' (Relu)
  std::vector<std::string> parts = absl::StrSplit(source, "; ");
  for (std::string& part : parts) {
    const std::size_t quote = part.rfind("' (");
    if (part.rfind(kOnnxNode, 0) != 0 || quote == std::string::npos || quote < kOnnxNode.size()) continue;
    part = part.substr(kOnnxNode.size(), quote - kOnnxNode.size()) + part.substr(quote + 1);
  }
  return absl::StrJoin(parts, "; ");
}

std::string rate_text(double value) { return value < 0 ? "-" : fixed(value, value < 10 ? 2 : 1); }

std::string human_count(double count, const std::string& unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  for (; count >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix) count /= 1000;
  const std::string number = fixed(count, prefix == 0 || count >= 100 ? 0 : 1), name = kPrefixes[prefix] + unit;
  return name.empty() ? number : number + " " + name;
}

}  // namespace hearth::cli
