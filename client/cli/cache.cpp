// hearth cache ls | rm | verify | clear; packs.cpp has export and import. Starts a daemon when none runs, since only a
// daemon touches its cache folder.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "client/cli/checks.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/packs.h"
#include "client/cli/print.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CacheFlags {
  std::string socket;
  std::uint32_t limit = 1000;
  bool tuning = false;
  bool json = false;
  std::string model;
};

std::string date(std::int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm utc{};
  char text[32];
  gmtime_r(&time, &utc);
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
  return text;
}

absl::StatusOr<int> list(const CacheFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, any_daemon(flags.socket));
  v1::CacheListRequest request;
  request.set_limit(flags.limit);
  request.set_model(flags.model);
  HEARTH_ASSIGN_OR_RETURN(const auto reply, channel->cache_list(request, kAdminTimeout));
  if (flags.json) {
    Json entries = Json::array();
    for (const v1::CacheEntry& entry : reply.entries()) {
      Json item = {{"key", hex(entry.key())},
                   {"kind", entry.kind()},
                   {"bytes", entry.bytes()},
                   {"created_unix_s", entry.created_unix_s()},
                   {"last_used_unix_s", entry.last_used_unix_s()},
                   {"leased", entry.leased()},
                   {"model", entry.model().empty() ? Json() : Json(entry.model())}};
      item["user"] = entry.has_user() ? Json(entry.user()) : Json();
      entries.push_back(item);
    }
    print_json({{"entries", entries}});
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"key", "kind", "size", "last used (UTC)", "leased", "model"}};
  const bool has_users = std::any_of(reply.entries().begin(), reply.entries().end(),
                                     [](const v1::CacheEntry& entry) { return entry.has_user(); });
  if (has_users) rows[0].emplace_back("user");
  std::uint64_t bytes = 0;
  for (const v1::CacheEntry& entry : reply.entries()) {
    rows.push_back({hex(entry.key()).substr(0, 16), entry.kind(), human_bytes(static_cast<double>(entry.bytes())),
                    date(entry.last_used_unix_s()), entry.leased() ? "yes" : "no",
                    entry.model().empty() ? "-" : entry.model()});
    if (has_users) rows.back().push_back(entry.has_user() ? std::to_string(entry.user()) : "-");
    bytes += entry.bytes();
  }
  print_table(rows);
  const bool is_cut = flags.limit > 0 && static_cast<std::uint32_t>(reply.entries_size()) == flags.limit;
  print_summary(reply.entries_size(), reply.entries_size() == 1 ? " entry" : " entries", ", ",
                human_bytes(static_cast<double>(bytes)), is_cut ? "; --limit shows more" : "");
  return 0;
}

absl::StatusOr<int> verify(const CacheFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, any_daemon(flags.socket));
  HEARTH_ASSIGN_OR_RETURN(const auto reply, channel->cache_verify(std::chrono::hours(1)));
  if (flags.json) {
    const std::vector<std::string> problems(reply.problems().begin(), reply.problems().end());
    print_json({{"checked", reply.checked()}, {"quarantined", reply.quarantined()}, {"problems", problems}});
  } else {
    print_line(reply.checked(), " entries checked, ", reply.quarantined(), " quarantined");
    for (const std::string& problem : reply.problems()) print_line(problem);
  }
  return reply.quarantined() == 0 && reply.problems_size() == 0 ? 0 : 1;
}

absl::StatusOr<int> remove(const CacheFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, any_daemon(flags.socket));
  v1::RemoveModelRequest request;
  request.set_model(flags.model);
  HEARTH_ASSIGN_OR_RETURN(const auto reply, channel->remove_model(request, kAdminTimeout));
  if (flags.json) {
    print_json(
        {{"removed", reply.removed()}, {"kept_leased", reply.kept_leased()}, {"freed_bytes", reply.freed_bytes()}});
  } else {
    print_summary(reply.removed(), reply.removed() == 1 ? " entry" : " entries", " removed (",
                  human_bytes(static_cast<double>(reply.freed_bytes())), "), ", counted(reply.kept_leased(), "plan"),
                  " kept because they are in use");
  }
  if (reply.removed() + reply.kept_leased() > 0) return 0;
  return absl::NotFoundError(
      str_cat("nothing in the cache is of a model called '", flags.model, "'; hearth cache ls shows their names"));
}

absl::StatusOr<int> clear(const CacheFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, any_daemon(flags.socket));
  v1::CacheClearRequest request;
  request.set_tuning(flags.tuning);
  HEARTH_ASSIGN_OR_RETURN(const auto reply, channel->cache_clear(request, kAdminTimeout));
  if (flags.json) {
    print_json({{"removed", reply.removed()},
                {"kept_leased", reply.kept_leased()},
                {"kept_tuning", reply.kept_tuning()},
                {"freed_bytes", reply.freed_bytes()}});
  } else {
    print_summary(reply.removed(), " entries removed (", human_bytes(static_cast<double>(reply.freed_bytes())), "), ",
                  reply.kept_leased(), " kept because they are in use");
    if (reply.kept_tuning() > 0) {
      print_summary(reply.kept_tuning(), " tuning records kept; --tuning removes them too");
    }
  }
  return 0;
}

}  // namespace

void add_cache(CLI::App& app, Action& action) {
  auto flags = std::make_shared<CacheFlags>();
  CLI::App* cache = command_line::add_command(app, "cache", "Look at, check, clear or hand on the daemon's cache");
  cache->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, absl::StatusOr<int> (*run)(const CacheFlags&),
                       command_line::Manual manual) {
    CLI::App* command = command_line::add_command(*cache, name, help, std::move(manual));
    add_socket_to(*command, flags->socket);
    add_json_to(*command, flags->json);
    command->callback([flags, run, &action] { action = [flags, run] { return run(*flags); }; });
    return command;
  };
  CLI::App* const ls =
      add("ls", "List entries, last used first", list,
          {.details = "The model is what the client calls it that had a plan built, the commands by folder and file; a "
                      "kernel's is that of one of the plans that have it. The user is who had it compiled, where that "
                      "is neither root nor the daemon's own.",
           .examples = {{"hearth cache ls --limit 20", "Lists the twenty entries that were used last."},
                        {"hearth cache ls --model resnet/model.onnx", "Lists what is there of a model."}}});
  ls->add_option("--limit", flags->limit, "Entries at most; 0: all")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str();
  const char* const which = "Only of this model: its name, or the end of it behind a /";
  ls->add_option("--model", flags->model, which)->type_name("NAME")->check(not_empty());
  add("rm", "Remove a model's plans, and the kernels that only they have", remove,
      {.details = "What is in use stays. Tuning records stay, too.",
       .examples = {{"hearth cache rm --model resnet/model.onnx", "Removes one model."}},
       .exit_statuses = {{1, "Nothing is there of this model, or something else failed."}}})
      ->add_option("--model", flags->model, "The model: its name in `hearth cache ls`, or the end of it behind a /")
      ->type_name("NAME")
      ->required()
      ->check(not_empty());
  add("verify", "Check the digest of every entry", verify,
      {.details = "A damaged entry is set aside; the next prepare that needs it compiles it again.",
       .examples = {{"hearth cache verify", "Checks every entry."}},
       .exit_statuses = {{1, "An entry is damaged, or something else failed."}}});
  add("clear", "Remove every entry that is not in use, except tuning records", clear,
      {.details = "Kernels and plans are compiled again when they are needed. Tuning records would have to be searched "
                  "for again, so they stay unless they are named.",
       .examples = {{"hearth cache clear", "Empties the cache; running plans keep what they use."},
                    {"hearth cache clear --tuning", "Forgets what hearth tune has found, too."}}})
      ->add_flag("--tuning,--all", flags->tuning, "Remove tuning records too");
  add_packs(*cache, action);
}

}  // namespace hearth::cli
