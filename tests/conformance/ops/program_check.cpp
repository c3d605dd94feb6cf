// What Program's executions have to agree on, and how closely.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/conformance/aarch64/aarch64_runner.h"
#include "tests/conformance/ops/program.h"
#include "tests/conformance/ops/zero_sign.h"
#include "tests/support/skip.h"

namespace hearth::conformance {

namespace reference = codegen::reference;

namespace {

constexpr double kMostInterpretedOps = 1e6;

// "shaderInt8, which vulkan:minimal lacks" of a refusal: one line in the summary for all ops that need it.
std::string refused_feature(const absl::Status& status) {
  const std::string text(status.message());
  const std::size_t at = text.find(" needs ");
  return at == std::string::npos ? text : text.substr(at + 7, text.find('\n', at) - at - 7);
}

}  // namespace

// As if the work were proportional to each variable.
double Program::work(const Feed& feed) {
  if (!prepare().ok()) return 0;
  double ops = 0;
  for (const v1::Launch& launch : lowered().plan().launches())
    ops += static_cast<double>(lowered().plan().kernels(static_cast<int>(launch.kernel())).num_ops());
  for (std::size_t i = 0; i < feed.vars.size(); ++i)
    ops *= static_cast<double>(feed.vars[i]) /
           std::max(1.0, static_cast<double>(lowered().plan().vars(static_cast<int>(i)).max()));
  return ops;
}

int Program::num_of_workgroups() const {
  return static_cast<int>(std::ranges::count_if(
      lowered().plan().kernels(), [](const v1::PlanKernel& kernel) { return kernel.unit_is_workgroup(); }));
}

// Nothing is, of a graph of f32, i32 and bool.
bool Program::is_refused_by_right() const {
  return std::ranges::any_of(graph_.nodes(), [](const v1::Node& node) {
    return node.dtype() != v1::DTYPE_UNSPECIFIED && node.dtype() != v1::F32 && node.dtype() != v1::I32 &&
           node.dtype() != v1::BOOL;
  });
}

std::string Program::disagreement(const Feed& feed, const Tolerances& tolerances) {
  std::vector<std::pair<Execution, const char*>> executions = {{Execution::Imported, "imported"},
                                                               {Execution::Ast, "ast"},
                                                               {Execution::Linear, "linear"},
                                                               {Execution::Compiled, "compiled"}};
  if (on_aarch64()) {
    if (const absl::Status found = aarch64_runner().status(); absl::IsNotFound(found)) {
      test::skip_part(std::string(found.message()));
      return "";
    }
  }
  if (on_gpu()) {
    if (target_.device() != gpu_target().device()) {
      test::skip_part("of a CPU's target, which runs where programs are judged on the CPU");
      return "";
    }
    if (const absl::Status found = find_gpu(); absl::IsNotFound(found)) {
      test::skip_part(absl::StrCat("no such device: ", std::string(found.message())));
      return "";
    }
    if (absl::IsUnimplemented(prepare()) && is_refused_by_right()) {
      test::skip_part(absl::StrCat("refused on a GPU: ", refused_feature(prepared_)));
      return "";
    }
    executions = {{Execution::Ast, "ast"}, {Execution::Linear, "linear"}, {Execution::Gpu, "gpu"}};
    if (target_.gpu().has_cooperative_matrix() && !(*VulkanRunner::get())->matrices().has_cooperative_matrix()) {
      test::skip_part("the device multiplies no cooperative matrices: interpreters alone");
      executions.pop_back();
    }
  }
  // Interpreters of large graphs take minutes, and find in them what they find in small ones.
  if (work(feed) > kMostInterpretedOps) executions.erase(executions.begin(), executions.end() - 1);
  absl::StatusOr<Tensors> want = run_reference(feed);
  if (!want.ok()) return absl::StrCat("reference: ", want.status().ToString());
  for (const auto& [execution, name] : executions) {
    if (execution == Execution::Imported && graph_.loops_size() > 0) {
      test::skip_part("the interpreter of imported graphs has no loops");
      continue;
    }
    absl::StatusOr<Tensors> got = run(feed, execution);
    if (!got.ok()) return absl::StrCat(name, ": ", got.status().ToString());
    const std::string what = difference(*got, *want, tolerances_of(graph_, tolerances));
    if (!what.empty()) return absl::StrCat(name, ": ", what);
  }
  return "";
}

void Program::check(const Feed& feed, Tolerance tolerance) {
  const std::string what = disagreement(feed, {tolerance});
  std::string vars;
  for (const std::int64_t var : feed.vars) absl::StrAppend(&vars, " ", var);
  if (!what.empty()) UNSCOPED_INFO("vars:" << vars << "\n" << text());
  CHECK(what == "");
}

Tolerances tolerances_of(const v1::Graph& graph, const Tolerances& tolerances) {
  const std::vector<bool> any_sign = nodes_of_any_zero_sign(graph);
  Tolerances result;
  for (int k = 0; k < graph.outputs_size(); ++k) {
    result.push_back(tolerances.size() == 1 ? tolerances[0] : tolerances.at(static_cast<std::size_t>(k)));
    result.back().any_zero_sign = any_sign.at(graph.outputs(k).node());
  }
  return result;
}

namespace {

bool is_close(double got, double want, Tolerance tolerance) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (tolerance.relative == 0 && tolerance.absolute == 0)
    return got == want && (want != 0 || tolerance.any_zero_sign || std::signbit(got) == std::signbit(want));
  return got == want ||
         (std::isfinite(want) && std::fabs(got - want) <= tolerance.absolute + tolerance.relative * std::fabs(want));
}

}  // namespace

std::string difference(const Tensors& got, const Tensors& want, const Tolerances& tolerances) {
  if (got.size() != want.size()) return absl::StrCat(got.size(), " outputs instead of ", want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    const ir::Scalar dtype = want[k].dtype;
    const Tolerance tolerance = tolerances.size() == 1 ? tolerances[0] : tolerances.at(k);
    if (got[k].dtype != dtype || got[k].shape != want[k].shape)
      return absl::StrCat("output ", k, " has another dtype or shape");
    for (std::int64_t i = 0; i < want[k].num_elements(); ++i) {
      const reference::Element g = got[k].get(i), w = want[k].get(i);
      bool same = g.i == w.i;
      if (dtype == ir::Scalar::Bool) same = got[k].bytes[i] == want[k].bytes[i];
      if (ir::is_float(dtype)) same = is_close(g.f, w.f, tolerance);
      if (!same) {
        return absl::StrCat("output ", k, " element ", i, " is ", reference::to_string(dtype, g), ", expected ",
                            reference::to_string(dtype, w));
      }
    }
  }
  return "";
}

}  // namespace hearth::conformance
