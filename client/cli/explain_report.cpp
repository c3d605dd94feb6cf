#include "client/cli/explain_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "client/cli/format.h"
#include "client/cli/opts_text.h"
#include "client/cli/plan_facts.h"
#include "client/cli/print.h"
#include "runtime/devices/devices.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }

std::string short_hex(const std::string& digest) { return hex(digest).substr(0, 16); }

template <typename Passes>
double total_us(const Passes& passes) {
  double total = 0;
  for (const v1::PassReport& pass : passes) {
    // "kernels/flatten" is a part of "kernels".
    if (pass.name().find('/') == std::string::npos) total += microseconds(pass.time_ns());
  }
  return total;
}

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

std::string opts_of(const v1::ExplainedKernel& kernel) {
  if (kernel.ast().rfind("blob ", 0) == 0) return "blob";
  return (kernel.tuned() ? "tuned: " : "heuristic: ") + opts_text(kernel.opts());
}

std::string size_of(const v1::ExplainedKernel& kernel) {
  return kernel.artifact_bytes() == 0 ? "-" : human_bytes(static_cast<double>(kernel.artifact_bytes()));
}

// The work of all launches of a replay.
struct Work {
  double ops = 0, bytes = 0;
  std::uint64_t launches = 0, conditional = 0;
  std::uint32_t kernels = 0, once = 0;
};

Work work_of(const std::vector<KernelRow>& rows) {
  Work work;
  for (const KernelRow& row : rows) {
    ++work.kernels;
    work.once += row.once;
    if (row.once) continue;
    work.launches += row.launches;
    work.conditional += std::min(row.conditional, row.launches);
    work.ops += row.ops * row.launches;
    work.bytes += std::max(0.0, row.bytes) * row.launches;
  }
  return work;
}

std::string miss_text(const v1::ExplainResponse& reply) {
  if (reply.nearest_plan_key().empty()) return "no plan of this model was in the cache";
  const bool same_graph = std::none_of(reply.differing_parts().begin(), reply.differing_parts().end(),
                                       [](const std::string& part) { return part.rfind("graph.", 0) == 0; });
  return str_cat("the nearest cached plan of this model", same_graph ? "" : ", with other lengths,", " (",
                 short_hex(reply.nearest_plan_key()), ") differs in ", absl::StrJoin(reply.differing_parts(), ", "));
}

// At which work is counted.
std::string values_text(const ExplainReport& report) {
  std::string text;
  for (int i = 0; i < report.reply.plan().vars_size() && static_cast<std::size_t>(i) < report.values.size(); ++i)
    str_append(&text, i == 0 ? ", at " : ", ", report.reply.plan().vars(i).name(), "=",
               report.values[static_cast<std::size_t>(i)]);
  return text;
}

// A plan of half precision for a CPU, which widens it.
bool computes_in_f32(const v1::Plan& plan) {
  return !plan.target().has_gpu() && std::ranges::any_of(plan.buffers(), [](const v1::PlanBuffer& buffer) {
    const auto dtype = static_cast<DType>(buffer.dtype());
    return dtype == DType::kF16 || dtype == DType::kBF16;
  });
}

void print_summary_of(const ExplainReport& report) {
  const v1::ExplainResponse& reply = report.reply;
  const Work work = work_of(report.rows);
  std::string kernels = str_cat(work.kernels, ", ", launches_text(reply.plan(), work.launches));
  if (work.conditional > 0)
    str_append(&kernels, ", ", work.conditional, " of them only where the model's conditions say so");
  if (work.once > 0) str_append(&kernels, "; ", work.once, " of them run once, when the plan is prepared");
  Rows facts = {
      {"model", report.path},
      {"target", target_text(reply.plan().target())},
      {"plan", str_cat(short_hex(reply.plan_key()),
                       reply.plan_cached() ? ", was in the cache" : ", was not in the cache: compiled ",
                       reply.plan_cached() ? "" : counted(reply.compiled_kernels(), "kernel") + " and kept")}};
  if (!reply.plan_cached()) facts.push_back({"why", miss_text(reply)});
  facts.push_back({"kernels", kernels});
  facts.push_back({"work", str_cat(human_count(work.ops, "FLOP"), ", ", human_bytes(work.bytes), " moved a replay",
                                   values_text(report))});
  facts.push_back({"memory", memory_text(memory_of(reply.plan()))});
  if (report.profile && report.profile->speed) facts.push_back({"machine", speed_text(*report.profile->speed)});
  if (computes_in_f32(reply.plan()))
    facts.push_back({"note",
                     "f16 and bf16 are what values are stored as: on this CPU kernels compute in f32. They save "
                     "memory, and time only where memory limits, as a row times a matrix does"});
  for (const std::string& note : reply.notes()) facts.push_back({"note", note});
  print_facts(facts);
}

void print_kernels(const ExplainReport& report) {
  const bool is_of_gpu = report.reply.plan().target().has_gpu();
  Rows table = {{"#", "from", "runs", "FLOP", "peak", "bytes", "code", "cached", "kernel"}};
  if (is_of_gpu) table[0].insert(table[0].begin() + 5, {"busy", "shared"});
  for (int i = 0; i < report.reply.kernels_size(); ++i) {
    const v1::ExplainedKernel& kernel = report.reply.kernels(i);
    const KernelRow& row = report.rows[static_cast<std::size_t>(i)];
    const std::string from = row.from();
    table.push_back({std::to_string(i), from.empty() ? "-" : from, row.runs(), row.ops > 0 ? human_count(row.ops) : "-",
                     row.peak_share() < 0 ? "-" : fixed(100 * row.peak_share(), 0) + " %", human_bytes(row.bytes),
                     size_of(kernel), kernel.cached() ? "yes" : "no", short_symbol(kernel.symbol())});
    if (!is_of_gpu) continue;
    const std::string busy = row.occupancy_percent < 1 ? "-" : str_cat(row.occupancy_percent, " %");
    const std::string shared = row.shared_bytes == 0 ? "-" : human_bytes(static_cast<double>(row.shared_bytes));
    table.back().insert(table.back().begin() + 5, {busy, shared});
  }
  print_line("kernels: FLOP and bytes of one launch; peak: estimated share of ",
             is_of_gpu ? "what the GPU's arithmetic and memory allow" : "a core's peak");
  if (is_of_gpu)
    print_line("busy: invocations, of those that keep the GPU busy; shared: memory of a workgroup that a kernel takes");
  print_table(table);
}

// The median replay, a table, and what its columns mean.
void print_profile(const KernelProfile& profile) {
  print_line("measured on this machine: ", profile.times.replays_us.size(), " warm replays");
  print_table(profile_table(profile));
  if (!profile.speed) return;
  print_line("peak: share of the machine's arithmetic on f32; bandwidth: of what it reads from the cache that holds a");
  print_line("launch's bytes, else from memory; limited by: what is nearest to what it can do");
}

template <typename Passes>
void print_passes(const Passes& passes, bool dump) {
  Rows rows = {{"pass", "time", "nodes"}};
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

const v1::PassReport* find_pass(const v1::ExplainedKernel& kernel, const std::string& name) {
  for (const v1::PassReport& pass : kernel.passes()) {
    if (pass.name() == name) return &pass;
  }
  return nullptr;
}

// A text of a kernel's code that can be asked for.
struct CodeText {
  const char* name;
  std::vector<std::string_view> formats;  // of code that has it (runtime/hal/driver.h)
  const char* pass;                       // after which it is
};

CodeText code_text(const std::string& what) {
  if (what == "spirv") return {"SPIR-V", {"spirv"}, "codegen"};
  if (what == "ptx") return {"PTX", {"ptx"}, "assembly"};
  if (what == "amdgpu") return {"AMD's assembly", {"hsaco"}, "assembly"};
  if (what == "asm") return {"assembly", {"elf", "ptx", "hsaco"}, "assembly"};
  return {"LLVM IR", {"elf", "ptx", "hsaco"}, "codegen"};
}

}  // namespace

void print_report(const ExplainReport& report) {
  const v1::ExplainResponse& reply = report.reply;
  print_summary_of(report);
  print_line();
  if (report.by != GroupBy::kNothing) return print_table(group_table(work_groups(report.rows, report.by), report.by));
  report.profile ? print_profile(*report.profile) : print_kernels(report);
  print_line();
  print_line("lowering, ", human_time(total_us(reply.passes())));
  print_passes(reply.passes(), report.dump);
  if (!report.dump) return;
  print_line();
  Rows parts = {{"key part", "digest", "detail"}};
  for (const v1::KeyPart& part : reply.key_parts()) {
    parts.push_back({part.name(), short_hex(part.digest()), part.detail()});
  }
  print_table(parts);
  for (const v1::ExplainedKernel& kernel : reply.kernels()) {
    print_line();
    print_line("=== ", kernel.symbol());
    print_lines(kernel.ast());
    print_passes(kernel.passes(), true);
  }
}

void print_miss(const std::string& path, const v1::ExplainResponse& reply) {
  const std::string key = short_hex(reply.plan_key());
  if (reply.plan_cached()) return print_line(path, ": the plan ", key, " is in the cache");
  print_line(path, ": the plan ", key, " is not in the cache; ", miss_text(reply));
  if (reply.differing_parts().empty()) return;
  Rows parts = {{"differs in", "here"}};
  for (const std::string& name : reply.differing_parts()) {
    const auto part = std::find_if(reply.key_parts().begin(), reply.key_parts().end(),
                                   [&, &wanted = name](const v1::KeyPart& shown) { return shown.name() == wanted; });
    parts.push_back({name, part == reply.key_parts().end() ? "-" : part->detail()});
  }
  print_table(parts);
}

nlohmann::ordered_json miss_json(const std::string& path, const v1::ExplainResponse& reply) {
  Json json = {{"model", path}, {"plan_key", hex(reply.plan_key())}, {"plan_cached", reply.plan_cached()}};
  json["key_parts"] = Json::array();
  for (const v1::KeyPart& part : reply.key_parts()) {
    json["key_parts"].push_back({{"name", part.name()}, {"digest", hex(part.digest())}, {"detail", part.detail()}});
  }
  if (!reply.nearest_plan_key().empty()) {
    json["miss"] = {
        {"nearest_plan_key", hex(reply.nearest_plan_key())},
        {"differing_parts", std::vector<std::string>(reply.differing_parts().begin(), reply.differing_parts().end())}};
  }
  return json;
}

nlohmann::ordered_json report_json(const ExplainReport& report) {
  const v1::ExplainResponse& reply = report.reply;
  Json json = miss_json(report.path, reply);
  json["compiled_kernels"] = reply.compiled_kernels();
  json["notes"] = Json(std::vector<std::string>(reply.notes().begin(), reply.notes().end()));
  const Work work = work_of(report.rows);
  json["work"] = {{"ops", work.ops}, {"bytes", work.bytes}, {"launches", work.launches}};
  json["memory"] = memory_json(memory_of(reply.plan()));
  json["passes"] = passes_json(reply.passes(), report.dump);
  json["kernels"] = Json::array();
  for (const v1::ExplainedKernel& kernel : reply.kernels()) {
    Json item = {{"symbol", kernel.symbol()},
                 {"key", hex(kernel.key())},
                 {"source", kernel.source()},
                 {"artifact_bytes", kernel.artifact_bytes()},
                 {"cached", kernel.cached()},
                 {"once", kernel.once()},
                 {"launches", kernel.launches()},
                 {"conditional_launches", report.rows[json["kernels"].size()].conditional},
                 {"ops", kernel.cost().ops()},
                 {"bytes_read", kernel.cost().bytes_read()},
                 {"bytes_written", kernel.cost().bytes_written()},
                 {"cycles", kernel.cost().cycles()},
                 {"least_cycles", kernel.cost().least_cycles()},
                 {"guarded", kernel.cost().guarded()},
                 {"tuned", kernel.tuned()},
                 {"opts", opts_text(kernel.opts())}};
    if (reply.plan().target().has_gpu()) {
      item["occupancy_percent"] = kernel.cost().occupancy_percent();
      item["shared_bytes"] = kernel.cost().shared_bytes();
    }
    if (kernel.passes_size() > 0) item["passes"] = passes_json(kernel.passes(), true);
    if (report.dump || kernel.passes_size() > 0) item["ast"] = kernel.ast();
    json["kernels"].push_back(item);
  }
  json["launches"] = reply.plan().launches_size();
  json["parallel_regions"] = regions_json(reply.plan());
  if (report.profile) json["measured"] = profile_json(*report.profile);
  if (report.by != GroupBy::kNothing) json["groups"] = group_json(work_groups(report.rows, report.by));
  return json;
}

absl::Status print_kernel(const ExplainReport& report, const std::string& name, const std::string& what) {
  int place = -1;
  const int num_kernels = report.reply.kernels_size();
  if (!absl::SimpleAtoi(name, &place)) {
    for (place = num_kernels - 1;
         place >= 0 && short_symbol(report.reply.kernels(place).symbol()) != short_symbol(name);)
      --place;
  }
  if (place < 0 || place >= num_kernels) return absl::NotFoundError(str_cat("the plan has no kernel '", name, "'"));
  const v1::ExplainedKernel& kernel = report.reply.kernels(place);
  if (what == "ast") {
    print_lines(kernel.ast());
    return absl::OkStatus();
  }
  const v1::Plan& plan = report.reply.plan();
  if (what != "passes" && !what.empty()) {
    const CodeText text = code_text(what);
    const bool is_blob = kernel.ast().rfind("blob ", 0) == 0;
    const runtime::Driver* const driver = runtime::find_driver(plan.target().device());
    const bool has_text = driver != nullptr && std::ranges::count(text.formats, driver->format().name) > 0;
    const v1::PassReport* pass = has_text ? find_pass(kernel, text.pass) : nullptr;
    if (pass == nullptr || pass->text().empty()) {
      return absl::UnimplementedError(str_cat("kernel '", kernel.symbol(), "' has no ", text.name, " to show: ",
                                              is_blob
                                                  ? "it is a blob, which a library's own compiler makes"
                                                  : str_cat("none is made for device '", plan.target().device(), "'")));
    }
    print_lines(pass->text());
    return absl::OkStatus();
  }
  const KernelRow& row = report.rows[static_cast<std::size_t>(place)];
  Rows facts = {{"kernel", kernel.symbol()},
                {"key", hex(kernel.key())},
                {"from", kernel.source()},
                {"runs", row.once ? "once, when the plan is prepared" : row.runs() + " a replay"},
                {"work", str_cat(human_count(row.ops, "FLOP"), ", ", human_bytes(row.bytes), " moved a launch")},
                {"code", str_cat(size_of(kernel), kernel.cached() ? ", was in the cache" : ", compiled now")},
                {"opts", opts_of(kernel)}};
  if (row.guarded > 0)
    facts.push_back({"guards", str_cat(counted(row.guarded, "access"), " compared with a length at run time")});
  if (const std::uint32_t invocations = plan.kernels(place).workgroup_size(); invocations > 0)
    facts.push_back({"workgroup", str_cat(invocations, " invocations")});
  print_facts(facts);
  print_line();
  print_passes(kernel.passes(), what == "passes");
  return absl::OkStatus();
}

}  // namespace hearth::cli
