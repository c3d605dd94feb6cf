// hearth explain: how the daemon compiles a model: key and its parts, passes, kernels. Compiles nothing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/model_flags.h"
#include "client/cli/opts_text.h"
#include "client/cli/print.h"
#include "client/request.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainFlags {
  ModelFlags model;
  std::string path;
  bool dump = false;
};

double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }

template <typename Passes>
Json passes_json(const Passes& passes, bool dump) {
  Json list = Json::array();
  for (const v1::PassReport& pass : passes) {
    Json item = {{"name", pass.name()}, {"time_us", microseconds(pass.time_ns())}, {"nodes", pass.num_nodes()}};
    if (dump) item["text"] = pass.text();
    list.push_back(item);
  }
  return list;
}

Json to_json(const v1::ExplainResponse& reply, bool dump) {
  Json json = {{"plan_key", hex(reply.plan_key())}, {"plan_cached", reply.plan_cached()}};
  json["key_parts"] = Json::array();
  for (const v1::KeyPart& part : reply.key_parts()) {
    json["key_parts"].push_back({{"name", part.name()}, {"digest", hex(part.digest())}, {"detail", part.detail()}});
  }
  if (!reply.nearest_plan_key().empty()) {
    json["miss"] = {
        {"nearest_plan_key", hex(reply.nearest_plan_key())},
        {"differing_parts", std::vector<std::string>(reply.differing_parts().begin(), reply.differing_parts().end())}};
  }
  json["notes"] = Json(std::vector<std::string>(reply.notes().begin(), reply.notes().end()));
  json["passes"] = passes_json(reply.passes(), dump);
  json["kernels"] = Json::array();
  for (const v1::ExplainedKernel& kernel : reply.kernels()) {
    Json item = {{"symbol", kernel.symbol()},
                 {"key", hex(kernel.key())},
                 {"source", kernel.source()},
                 {"artifact_bytes", kernel.artifact_bytes()},
                 {"cached", kernel.cached()},
                 {"once", kernel.once()},
                 {"tuned", kernel.tuned()},
                 {"opts", opts_text(kernel.opts())},
                 {"passes", passes_json(kernel.passes(), dump)}};
    if (dump) item["ast"] = kernel.ast();
    json["kernels"].push_back(item);
  }
  json["launches"] = reply.plan().launches_size();
  json["arena_bytes"] = reply.plan().arena_bytes();
  json["persistent_bytes"] = reply.plan().persistent_bytes();
  return json;
}

template <typename Passes>
void print_passes(const Passes& passes, bool dump) {
  std::vector<std::vector<std::string>> rows = {{"pass", "time", "nodes"}};
  for (const v1::PassReport& pass : passes) {
    rows.push_back({pass.name(), human_time(microseconds(pass.time_ns())), std::to_string(pass.num_nodes())});
  }
  print_table(rows);
  if (!dump) return;
  for (const v1::PassReport& pass : passes) {
    print_line();
    print_line("--- after ", pass.name());
    print_lines(pass.text());
  }
}

std::string opts_of(const v1::ExplainedKernel& kernel) {
  if (kernel.ast().rfind("blob ", 0) == 0) return "blob";
  return (kernel.tuned() ? "tuned: " : "heuristic: ") + opts_text(kernel.opts());
}

void print_text(const v1::ExplainResponse& reply, bool dump) {
  print_line("plan ", hex(reply.plan_key()), reply.plan_cached() ? " (cached)" : " (not cached)");
  std::vector<std::vector<std::string>> parts = {{"key part", "digest", "detail"}};
  for (const v1::KeyPart& part : reply.key_parts()) {
    parts.push_back({part.name(), hex(part.digest()).substr(0, 16), part.detail()});
  }
  print_table(parts);
  print_line();
  if (!reply.nearest_plan_key().empty()) {
    std::string parts;
    for (const std::string& name : reply.differing_parts()) parts += " " + name;
    print_line("nearest cached plan ", hex(reply.nearest_plan_key()).substr(0, 16), " differs in:", parts);
    print_line();
  }
  for (const std::string& note : reply.notes()) print_line("attention  ", note);
  if (reply.passes_size() > 0) print_passes(reply.passes(), dump);
  std::vector<std::vector<std::string>> rows = {{"kernel", "key", "size", "cached", "runs", "opts", "from"}};
  for (const v1::ExplainedKernel& kernel : reply.kernels()) {
    rows.push_back({kernel.symbol(), hex(kernel.key()).substr(0, 16),
                    kernel.artifact_bytes() == 0 ? "-" : human_bytes(static_cast<double>(kernel.artifact_bytes())),
                    kernel.cached() ? "yes" : "no", kernel.once() ? "once" : "every replay", opts_of(kernel),
                    kernel.source()});
  }
  print_line();
  print_table(rows);
  print_line(reply.plan().launches_size(), " launches, arena ",
             human_bytes(static_cast<double>(reply.plan().arena_bytes())), ", persistent ",
             human_bytes(static_cast<double>(reply.plan().persistent_bytes())));
  if (!dump) return;
  for (const v1::ExplainedKernel& kernel : reply.kernels()) {
    print_line();
    print_line("=== ", kernel.symbol());
    print_lines(kernel.ast());
    print_passes(kernel.passes(), dump);
  }
}

absl::StatusOr<int> explain(const ExplainFlags& flags) {
  absl::StatusOr<Model> model = load_model(flags.path, flags.model);
  if (!model.ok()) return model.status();
  const client::PrepareConfig config = flags.model.prepare_config();
  auto request = client::request_for<v1::ExplainRequest>(model->traced, config);
  if (!request.ok()) return request.status();
  absl::StatusOr<Channel> channel = any_daemon(config.socket);
  if (!channel.ok()) return channel.status();
  request->mutable_options()->set_dump(flags.dump);
  const auto reply = (*channel)->explain(*std::move(request), std::chrono::steady_clock::now() + config.deadline);
  if (!reply.ok()) return reply.status();
  if (flags.model.json) {
    print_json(to_json(*reply, flags.dump));
  } else {
    print_text(*reply, flags.dump);
  }
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command =
      command_line::add_command(app, "explain", "Show how a model is compiled: key, passes, kernels",
                                {.examples = {{"hearth explain model.onnx", "Shows the kernels of a model."}}});
  add_input_file(*command, "model", flags->path, "ONNX file")->required();
  flags->model.add_to(*command, /*with_inputs=*/true);
  command->add_flag("--dump", flags->dump, "Print the text of every pass and kernel");
  command->callback([flags, &action] { action = [flags] { return explain(*flags); }; });
}

}  // namespace hearth::cli
