// hearth cache export | import: a model's plans, kernels and tuning records from one node's cache to others', signed.
#include <absl/strings/escaping.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/packs.h"
#include "client/cli/print.h"
#include "client/files/oci_layout.h"
#include "client/files/pack_file.h"
#include "command_line/command.h"
#include "runtime/build_id.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::minutes kPackTimeout{10};  // of one call: a daemon reads and verifies all files of a pack
constexpr std::size_t kKeyBytes = 32;

struct PackFlags {
  std::string socket;
  bool json = false;
  std::string file;
  std::string oci;
  std::string receipt;
};

absl::Status check_place(const PackFlags& flags) {
  if (flags.file.empty() == flags.oci.empty())
    return usage_error(flags.file.empty() ? "name the pack's file, or a folder with --oci"
                                          : "name FILE or --oci, not both");
  return absl::OkStatus();
}

// What a receipt of `hearth prewarm --report` covers.
absl::StatusOr<v1::PackContents> contents_of(const std::string& path) {
  const std::string name = runtime::input_name(path);
  HEARTH_ASSIGN_OR_RETURN(std::string text, runtime::read_input(path));
  const Json receipt = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto no_receipt = [&](const std::string& why) {
    return absl::InvalidArgumentError(str_cat(name, ": no receipt of hearth prewarm --report: ", why));
  };
  if (!receipt.is_object() || !receipt.contains("covered") || !receipt["covered"].is_array())
    return no_receipt("it has no list 'covered'");
  v1::PackContents contents;
  std::set<std::string> keys;
  for (const Json& row : receipt["covered"]) {
    const Json key = row.is_object() && row.contains("plan_key") ? row["plan_key"] : Json();
    const std::string hex = key.is_string() ? key.get<std::string>() : "";
    if (hex.size() != 2 * kKeyBytes || hex.find_first_not_of("0123456789abcdef") != std::string::npos)
      return no_receipt(str_cat("row ", keys.size(), " of 'covered' has no plan_key"));
    if (keys.insert(hex).second) contents.add_plans(absl::HexStringToBytes(hex));
  }
  if (keys.empty()) return no_receipt("it covers no plan");
  contents.set_receipt(std::move(text));
  return contents;
}

// What is counted of a pack: its kind of entry, what one is called, and the member of --json.
struct Counted {
  const char* kind;
  const char* noun;
  const char* member;
};
constexpr Counted kCounted[] = {{"plan", "plan", "plans"},
                                {"kernel", "kernel", "kernels"},
                                {"blob", "blob", "blobs"},
                                {"tuning", "tuning record", "tuning_records"}};
using Counts = std::map<std::string, std::uint64_t>;  // by kind

std::string count_text(const Counts& counts) {
  std::string text;
  for (const Counted& shown : kCounted) {
    const auto found = counts.find(shown.kind);
    if (found != counts.end()) text += str_cat(text.empty() ? "" : ", ", counted(found->second, shown.noun));
  }
  return text;
}

Json count_json(const Counts& counts) {
  Json json = Json::object();
  for (const Counted& shown : kCounted) {
    const auto found = counts.find(shown.kind);
    json[shown.member] = found == counts.end() ? 0 : found->second;
  }
  return json;
}

absl::StatusOr<int> export_pack(const PackFlags& flags) {
  HEARTH_RETURN_IF_ERROR(check_place(flags));
  HEARTH_ASSIGN_OR_RETURN(const v1::PackContents contents, contents_of(flags.receipt));
  HEARTH_ASSIGN_OR_RETURN(Channel channel, any_daemon(flags.socket));
  v1::ExportPackRequest request;
  request.set_contents(contents.SerializeAsString());
  HEARTH_ASSIGN_OR_RETURN(const v1::ExportPackResponse signed_pack, channel->export_pack(request, kPackTimeout));
  v1::PackManifest manifest;
  *manifest.mutable_entries() = signed_pack.entries();
  *manifest.mutable_files() = signed_pack.files();
  manifest.set_version(HEARTH_VERSION);
  manifest.set_build_id(std::string(build_id()));
  v1::PackFile& last = *manifest.add_files();
  last.set_sha256(to_bytes(sha256(request.contents())));
  last.set_size(request.contents().size());
  std::vector<std::string> files;
  const auto deadline = std::chrono::steady_clock::now() + kPackTimeout;
  for (const v1::PackFile& file : signed_pack.files()) {
    HEARTH_ASSIGN_OR_RETURN(std::string bytes, channel->fetch_artifact(file.sha256(), deadline));
    files.push_back(std::move(bytes));
  }
  files.push_back(request.contents());
  HEARTH_ASSIGN_OR_RETURN(const std::string pack, client::pack_bytes(manifest, {files.begin(), files.end()}));
  HEARTH_RETURN_IF_ERROR(client::parse_pack(pack).status());  // what came from the daemon is what it has signed
  std::string oci_digest;
  if (flags.oci.empty()) {
    HEARTH_RETURN_IF_ERROR(runtime::write_file(flags.file, {pack}));
  } else {
    HEARTH_ASSIGN_OR_RETURN(oci_digest, client::write_oci_layout(flags.oci, pack, "pack.hearthpack"));
  }
  Counts kinds;
  for (const v1::PackEntry& entry : manifest.entries()) ++kinds[entry.kind()];
  const std::string& place = flags.oci.empty() ? flags.file : flags.oci;
  if (flags.json) {
    Json json = {{"pack", place}, {"sha256", to_hex(sha256(pack))}, {"bytes", pack.size()}};
    json.update(count_json(kinds));
    if (!oci_digest.empty()) json["manifest"] = oci_digest;
    print_json(json);
  } else {
    print_summary(place, ": ", count_text(kinds), ", ", human_bytes(static_cast<double>(pack.size())),
                  oci_digest.empty() ? "" : str_cat(", manifest ", oci_digest));
  }
  return 0;
}

absl::StatusOr<int> import_pack(const PackFlags& flags) {
  HEARTH_RETURN_IF_ERROR(check_place(flags));
  std::string path = flags.file;
  if (!flags.oci.empty()) {
    HEARTH_ASSIGN_OR_RETURN(path, client::pack_in_oci_layout(flags.oci));
  }
  const std::string& place = flags.oci.empty() ? flags.file : flags.oci;
  HEARTH_ASSIGN_OR_RETURN(const client::PackFile pack, client::read_pack_file(path));
  HEARTH_ASSIGN_OR_RETURN(Channel channel, any_daemon(flags.socket));
  Counts kinds, fresh;
  std::vector<std::string> missing;
  bool is_complete = false;
  std::string receipt;
  for (const v1::PackEntry& entry : pack.manifest.entries()) {
    v1::ImportEntryRequest request;
    *request.mutable_entry() = entry;
    for (const std::string& file : entry.files()) request.add_files(std::string(pack.file(file)));
    request.set_pack_name(place);
    request.set_pack_sha256(to_bytes(pack.sha256));
    const absl::StatusOr<v1::ImportEntryResponse> kept = channel->import_entry(request, kPackTimeout);
    if (!kept.ok()) return absl::Status(kept.status().code(), str_cat(place, ": ", kept.status().message()));
    ++kinds[kept->kind()];
    if (!kept->was_there()) ++fresh[kept->kind()];
    if (kept->kind() != "contents") continue;
    is_complete = true;
    for (const std::string& plan : kept->missing()) missing.push_back(hex(plan));
    v1::PackContents contents;
    if (contents.ParseFromString(request.files(0))) receipt = contents.receipt();
  }
  if (!is_complete || !missing.empty()) {
    return absl::DataLossError(str_cat(place, ": ",
                                       is_complete
                                           ? str_cat(counted(missing.size(), "plan"), " of its receipt are not in it")
                                           : std::string("what it was made for is not in it"),
                                       "; export the pack again"));
  }
  if (!flags.receipt.empty()) HEARTH_RETURN_IF_ERROR(runtime::write_file(flags.receipt, {receipt}));
  if (flags.json) {
    Json json = {{"pack", place}, {"sha256", to_hex(pack.sha256)}};
    json.update(count_json(kinds));
    json["new"] = count_json(fresh);
    print_json(json);
  } else {
    const std::string added = count_text(fresh);
    print_summary(place, ": ", count_text(kinds), "; new here: ", added.empty() ? "nothing" : added);
  }
  return 0;
}

}  // namespace

void add_packs(CLI::App& cache, Action& action) {
  auto flags = std::make_shared<PackFlags>();
  const auto add = [&](const char* name, const char* help, absl::StatusOr<int> (*run)(const PackFlags&),
                       command_line::Manual manual) {
    CLI::App* command = command_line::add_command(cache, name, help, std::move(manual));
    command->add_option("file", flags->file, "The pack's file")->type_name("FILE");
    command->add_option("--oci", flags->oci, "A folder that is an OCI image layout, as oras and skopeo carry, instead")
        ->type_name("DIR");
    add_socket_to(*command, flags->socket);
    add_json_to(*command, flags->json);
    command->callback([flags, run, &action] { action = [flags, run] { return run(*flags); }; });
    return command;
  };
  add("export", "Write a receipt's plans, kernels and tuning records to a signed pack", export_pack,
      {.details =
           "Other nodes take it with hearth cache import and compile nothing. It is signed with the daemon's key "
           "(remote_writer_key), and holds what root or the daemon's own user had compiled.",
       .examples = {{"hearth cache export --receipt receipt.json model.hearthpack", "Writes one file."},
                    {"hearth cache export --receipt receipt.json --oci pack",
                     "Writes a folder for oras copy --from-oci-layout pack:pack REGISTRY/NAME:TAG."}}})
      ->add_option("--receipt", flags->receipt, "What hearth prewarm --report wrote on this node")
      ->type_name("FILE.json")
      ->required();
  add("import", "Take what a signed pack holds into the cache", import_pack,
      {.details =
           "The daemon takes what a key that it trusts (remote_trusted_keys) has signed for the compiler that it "
           "has, and refuses all else. What is in the cache stays; a tuning record of the same kernel is replaced.",
       .examples = {{"hearth cache import model.hearthpack", "Takes one file."},
                    {"hearth cache import --oci pack --report receipt.json",
                     "Takes the pack of a layout, and writes the receipt that it was made for."}},
       .exit_statuses = {{1, "Something was refused, damaged or missing; standard error says what."}}})
      ->add_option("--report", flags->receipt, "Write the receipt that the pack was made for")
      ->type_name("FILE.json");
}

std::map<std::string, v1::ImportedPack> packs_of_plans(const std::string& socket) {
  std::map<std::string, v1::ImportedPack> packs;
  const absl::StatusOr<Channel> channel = running_daemon(socket);
  if (!channel.ok()) return packs;
  const absl::StatusOr<v1::ListPacksResponse> list = (*channel)->list_packs(kAdminTimeout);
  if (!list.ok()) return packs;
  for (const v1::ImportedPack& pack : list->packs())
    for (const std::string& plan : pack.plans()) packs.emplace(plan, pack);
  return packs;
}

}  // namespace hearth::cli
