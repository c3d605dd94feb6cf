// hearth blobs doctor: which kernel blobs this machine can compile, and what to install for the others.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "blobs/tools/toolchain.h"
#include "client/cli/blobs.h"
#include "client/cli/checks.h"
#include "client/cli/connect.h"
#include "client/cli/model_flags.h"
#include "client/cli/print.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DoctorFlags {
  std::vector<std::string> archs;
  bool json = false;
};

// Archs that were asked for must all work; otherwise one that works is enough.
bool good(const std::vector<blobs::ToolchainReport>& reports, const std::vector<std::string>& asked) {
  std::set<std::string> working;
  for (const auto& report : reports)
    for (const auto& arch : report.archs)
      if (arch.works) working.insert(arch.arch);
  if (asked.empty()) return !working.empty();
  return std::all_of(asked.begin(), asked.end(), [&](const std::string& arch) { return working.contains(arch); });
}

Json to_json(const std::vector<blobs::ToolchainReport>& reports) {
  Json list = Json::array();
  for (const auto& report : reports) {
    Json archs = Json::array();
    for (const auto& arch : report.archs)
      archs.push_back({{"arch", arch.arch}, {"works", arch.works}, {"detail", arch.detail}});
    list.push_back({{"toolchain", report.kind}, {"found", report.found}, {"detail", report.detail}, {"archs", archs}});
    if (const auto& host = report.host_sources; !host.arch.empty())
      list.back()["host_sources"] = {{"works", host.works}, {"detail", host.detail}};
  }
  return list;
}

int doctor(const DoctorFlags& flags) {
  const std::vector<blobs::ToolchainReport> reports = blobs::examine_toolchains(flags.archs);
  if (flags.json) {
    print_json(to_json(reports));
  } else {
    for (const auto& report : reports) {
      print_line(report.kind, "  ", report.detail);
      for (const auto& arch : report.archs)
        print_line("  ", arch.works ? "yes  " : "no   ", arch.arch, "  ", arch.detail);
      if (const auto& host = report.host_sources; !host.arch.empty())
        print_line("  ", host.works ? "yes  " : "no   ", host.arch, "  ", host.detail);
    }
  }
  return good(reports, flags.archs) ? 0 : 1;
}

}  // namespace

void add_blobs_doctor(CLI::App& blobs, Action& action) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command = command_line::add_command(
      blobs, "doctor", "Say which kernel blobs this machine can compile, and what the others need",
      {.examples = {{"hearth blobs doctor --arch gfx942", "Tries one GPU architecture."}},
       .exit_statuses = {{1, "No blob can be compiled here, or not for an architecture that was named."}}});
  add_list(*command, "--arch", flags->archs,
           "GPU architectures that must work, such as gfx942; without it the common ones are tried")
      ->type_name("ARCH,...")
      ->check(not_empty());
  add_json_to(*command, flags->json);
  command->callback([&action, flags] { action = [flags]() -> absl::StatusOr<int> { return doctor(*flags); }; });
}

}  // namespace hearth::cli
