// hearth cache ls | verify | clear. Starts a daemon when none runs, since only a daemon touches its cache folder.
#include <CLI/CLI.hpp>
#include <ctime>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
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
  absl::StatusOr<Channel> channel = any_daemon(flags.socket);
  if (!channel.ok()) return channel.status();
  v1::CacheListRequest request;
  request.set_limit(flags.limit);
  const auto reply = (*channel)->cache_list(request, kAdminTimeout);
  if (!reply.ok()) return reply.status();
  if (flags.json) {
    Json entries = Json::array();
    for (const v1::CacheEntry& entry : reply->entries()) {
      entries.push_back({{"key", hex(entry.key())},
                         {"kind", entry.kind()},
                         {"bytes", entry.bytes()},
                         {"created_unix_s", entry.created_unix_s()},
                         {"last_used_unix_s", entry.last_used_unix_s()},
                         {"leased", entry.leased()}});
    }
    print_json({{"entries", entries}});
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"key", "kind", "size", "last used (UTC)", "leased"}};
  for (const v1::CacheEntry& entry : reply->entries()) {
    rows.push_back({hex(entry.key()).substr(0, 16), entry.kind(), human_bytes(static_cast<double>(entry.bytes())),
                    date(entry.last_used_unix_s()), entry.leased() ? "yes" : "no"});
  }
  print_table(rows);
  return 0;
}

absl::StatusOr<int> verify(const CacheFlags& flags) {
  absl::StatusOr<Channel> channel = any_daemon(flags.socket);
  if (!channel.ok()) return channel.status();
  const auto reply = (*channel)->cache_verify(std::chrono::hours(1));
  if (!reply.ok()) return reply.status();
  if (flags.json) {
    const std::vector<std::string> problems(reply->problems().begin(), reply->problems().end());
    print_json({{"checked", reply->checked()}, {"quarantined", reply->quarantined()}, {"problems", problems}});
  } else {
    print_line(reply->checked(), " entries checked, ", reply->quarantined(), " quarantined");
    for (const std::string& problem : reply->problems()) print_line(problem);
  }
  return reply->quarantined() == 0 && reply->problems_size() == 0 ? 0 : 1;
}

absl::StatusOr<int> clear(const CacheFlags& flags) {
  absl::StatusOr<Channel> channel = any_daemon(flags.socket);
  if (!channel.ok()) return channel.status();
  v1::CacheClearRequest request;
  request.set_tuning(flags.tuning);
  const auto reply = (*channel)->cache_clear(request, kAdminTimeout);
  if (!reply.ok()) return reply.status();
  if (flags.json) {
    print_json({{"removed", reply->removed()},
                {"kept_leased", reply->kept_leased()},
                {"kept_tuning", reply->kept_tuning()},
                {"freed_bytes", reply->freed_bytes()}});
  } else {
    print_summary(reply->removed(), " entries removed (", human_bytes(static_cast<double>(reply->freed_bytes())), "), ",
                  reply->kept_leased(), " kept because they are in use");
    if (reply->kept_tuning() > 0) {
      print_summary(reply->kept_tuning(), " tuning records kept; --tuning removes them too");
    }
  }
  return 0;
}

}  // namespace

void add_cache(CLI::App& app, Action& action) {
  auto flags = std::make_shared<CacheFlags>();
  CLI::App* cache = command_line::add_command(app, "cache", "Look at, check or clear the daemon's cache");
  cache->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, absl::StatusOr<int> (*run)(const CacheFlags&),
                       command_line::Manual manual) {
    CLI::App* command = command_line::add_command(*cache, name, help, std::move(manual));
    add_socket_to(*command, flags->socket);
    add_json_to(*command, flags->json);
    command->callback([flags, run, &action] { action = [flags, run] { return run(*flags); }; });
    return command;
  };
  add("ls", "List entries, last used first", list,
      {.examples = {{"hearth cache ls --limit 20", "Lists the twenty entries that were used last."}}})
      ->add_option("--limit", flags->limit, "Entries at most")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str();
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
}

}  // namespace hearth::cli
