// hearth onnx: what of ONNX is here. `conformance` runs ONNX's standard test cases through the daemon to numbers;
// `check` is in onnx_check.cpp.
#include <CLI/CLI.hpp>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/checks.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/coverage_table.h"
#include "client/cli/format.h"
#include "client/cli/isolated.h"
#include "client/cli/model_flags.h"
#include "client/cli/onnx_check.h"
#include "client/cli/outputs.h"
#include "client/cli/print.h"
#include "client/onnx/conformance.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;
using onnx::Array;
using onnx::CaseResult;
using onnx::Verdict;

struct ConformanceFlags {
  std::string folder;
  std::string markdown;
  ModelFlags model;
  onnx::CaseTolerance tolerance;
  bool all = false;
};

absl::StatusOr<std::vector<Array>> replay(const onnx::ImportedModel& model, const std::map<std::string, Array>& arrays,
                                          const client::PrepareConfig& config) {
  HEARTH_ASSIGN_OR_RETURN(client::PreparedPlan plan, client::prepare(model.outputs, config));
  HEARTH_ASSIGN_OR_RETURN(client::Instance instance, plan.instantiate());
  for (const client::ValueInfo& input : plan.inputs()) {
    const auto found = arrays.find(input.name);
    if (found == arrays.end()) return absl::InvalidArgumentError(str_cat("no data for input '", input.name, "'"));
    HEARTH_ASSIGN_OR_RETURN(const client::MutableView view, instance.input(input.name));
    if (found->second.bytes.size() != view.size_bytes) {
      return absl::InvalidArgumentError(str_cat("input '", input.name, "' has ", found->second.bytes.size(),
                                                " bytes; the plan reads ", view.size_bytes));
    }
    std::memcpy(view.data, found->second.bytes.data(), view.size_bytes);
  }
  HEARTH_RETURN_IF_ERROR(instance.execute());
  return read_outputs(instance, model);
}

Json to_json(const CaseResult& result) {
  return {{"name", result.name},
          {"verdict", std::string(to_string(result.verdict))},
          {"reason", result.reason},
          {"types_only", result.types_only},
          {"inputs_known", result.inputs_known},
          {"operators", result.operators}};
}

CaseResult from_json(const Json& json) {
  CaseResult result;
  result.name = json["name"];
  for (Verdict verdict : {Verdict::kPassed, Verdict::kFailed, Verdict::kUnsupported}) {
    if (json["verdict"] == to_string(verdict)) result.verdict = verdict;
  }
  result.reason = json["reason"];
  result.types_only = json["types_only"];
  result.inputs_known = json["inputs_known"];
  result.operators = json["operators"].get<std::vector<std::string>>();
  return result;
}

absl::StatusOr<int> conformance(const ConformanceFlags& flags) {
  const std::vector<std::string> cases = onnx::find_cases(flags.folder);
  if (cases.empty()) {
    return absl::NotFoundError(
        str_cat(flags.folder, ": no test case in it (a folder with model.onnx and test_data_set_0)"));
  }
  HEARTH_ASSIGN_OR_RETURN(const client::PrepareConfig prepare, flags.model.prepare_config());
  const client::PrepareConfig& config = prepare;
  // Before any case, which would be a failure without a daemon.
  if (absl::StatusOr<Channel> channel = any_daemon(config.socket); !channel.ok()) return channel.status();
  const auto work = [&](std::size_t i) {
    const auto evaluate = [&](const onnx::ImportedModel& model, const std::map<std::string, Array>& arrays) {
      return replay(model, arrays, config);
    };
    return to_json(onnx::check_case(cases[i], evaluate, flags.tolerance))
        .dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::vector<CaseResult> results;
  std::map<Verdict, int> totals;
  const auto done = [&](std::size_t i, absl::StatusOr<std::string> text) {
    CaseResult result;
    if (text.ok()) {
      result = from_json(Json::parse(*text));
    } else {
      result.name = cases[i].substr(cases[i].find_last_of('/') + 1);
      result.reason = std::string(text.status().message());
    }
    ++totals[result.verdict];
    if (!flags.model.json && (flags.all || result.verdict != Verdict::kPassed)) {
      print_line(to_string(result.verdict), "  ", result.name, result.reason.empty() ? "" : ": " + result.reason);
    }
    results.push_back(std::move(result));
  };
  // A prepare has its own deadline; a replay that hangs is noticed some time after.
  const absl::Status ran = run_isolated(cases.size(), config.deadline + std::chrono::seconds(30), work, done);
  if (!ran.ok()) return ran;
  if (!flags.markdown.empty()) {
    HEARTH_RETURN_IF_ERROR(write_coverage(flags.markdown, results));
  }
  if (flags.model.json) {
    Json rows = Json::array();
    for (const CaseResult& result : results) rows.push_back(to_json(result));
    const Json json = {{"cases", results.size()},
                       {"passed", totals[Verdict::kPassed]},
                       {"failed", totals[Verdict::kFailed]},
                       {"unsupported", totals[Verdict::kUnsupported]},
                       {"results", std::move(rows)}};
    print_json(json);
  } else {
    print_line(results.size(), " cases: ", totals[Verdict::kPassed], " passed, ", totals[Verdict::kFailed], " failed, ",
               totals[Verdict::kUnsupported], " unsupported");
  }
  return totals[Verdict::kFailed] == 0 ? 0 : 1;
}

}  // namespace

void add_onnx(CLI::App& app, Action& action) {
  CLI::App* group = command_line::add_command(app, "onnx", "See what of ONNX is supported");
  group->require_subcommand(1);
  auto conform = std::make_shared<ConformanceFlags>();
  CLI::App* command =
      command_line::add_command(*group, "conformance", "Run ONNX's standard test cases through the daemon",
                                {.examples = {{"hearth onnx conformance /usr/share/libonnx-testdata/data",
                                               "Runs all cases of Debian's package."}},
                                 .exit_statuses = {{1, "A case gives wrong numbers, or something else failed."}}});
  command->add_option("folder", conform->folder, "Folder of test cases, searched downwards")
      ->type_name("FOLDER")
      ->required();
  conform->model.add_connection_to(*command);
  command->add_option("--rtol", conform->tolerance.relative, "Relative tolerance of floats")
      ->type_name("X")
      ->check(number_in(0, 1e9))
      ->capture_default_str();
  command->add_option("--atol", conform->tolerance.absolute, "Absolute tolerance of floats")
      ->type_name("X")
      ->check(number_in(0, 1e9))
      ->capture_default_str();
  command->add_option("--markdown", conform->markdown, "Write the coverage table into this file")->type_name("FILE");
  command->add_flag("--all", conform->all, "Print passed cases too");
  command->callback([conform, &action] { action = [conform] { return conformance(*conform); }; });

  add_onnx_check(*group, action);
}

}  // namespace hearth::cli
