// hearth remote keygen | status | check: the daemon's cache beyond its node, and the keys that sign what is in it.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/ed25519_text.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/print.h"
#include "client/cli/remote_text.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RemoteFlags {
  std::string socket;
  bool json = false;
  std::string file;
  bool show = false;
};

absl::Status no_remote() {
  return absl::FailedPreconditionError(
      "no remote cache is configured; set `remote` in the daemon's configuration file, or HEARTH_REMOTE");
}

// Nobody else may read the file at any time, and one that is there stays: its results would be trusted no longer.
absl::Status write_new_secret(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const auto failed = [&] {
    const absl::Status status = absl::ErrnoToStatus(errno, str_cat(path, ": cannot be written"));
    return errno == EEXIST ? absl::AlreadyExistsError(str_cat(path, ": there is a file; --show shows its public key"))
                           : status;
  };
  if (!file) return failed();
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = ::write(file.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failed();
    written += static_cast<std::size_t>(count);
  }
  return ::fsync(file.get()) == 0 ? absl::OkStatus() : failed();
}

absl::StatusOr<Ed25519Secret> key_of(const RemoteFlags& flags) {
  if (flags.show) {
    HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(flags.file));
    absl::StatusOr<Ed25519Secret> secret = parse_secret(text);
    if (!secret.ok()) return absl::InvalidArgumentError(str_cat(flags.file, ": ", secret.status().message()));
    return secret;
  }
  Ed25519Secret secret = Ed25519Secret::made();
  HEARTH_RETURN_IF_ERROR(write_new_secret(flags.file, secret_text(secret)));
  return secret;
}

absl::StatusOr<int> keygen(const RemoteFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(const Ed25519Secret secret, key_of(flags));
  const std::string public_key = public_key_text(secret.public_key()), id = key_id(secret.public_key());
  if (flags.json) {
    print_json({{"file", flags.file}, {"public_key", public_key}, {"id", id}});
  } else {
    print_facts({{"key file", flags.file + ", for remote_writer_key: give it to the daemon's user alone"},
                 {"public key", public_key + ", for remote_trusted_keys"},
                 {"id", id + ", for remote_revoked_keys"}});
  }
  return 0;
}

absl::StatusOr<int> status(const RemoteFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, running_daemon(flags.socket));
  HEARTH_ASSIGN_OR_RETURN(const v1::StatsResponse stats, channel->stats(kStatusTimeout));
  if (stats.without_counters())
    return absl::PermissionDeniedError("the remote cache is for the daemon's operator (root, or its user) to see");
  if (!stats.has_remote()) return no_remote();
  if (flags.json) {
    print_json(remote_json(stats));
  } else {
    print_facts({{"remote", remote_text(stats)}});
  }
  return stats.remote().is_asked() && stats.remote().problem().empty() ? 0 : 1;
}

absl::StatusOr<int> check(const RemoteFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, running_daemon(flags.socket));
  HEARTH_ASSIGN_OR_RETURN(const v1::RemoteCheckResponse reply, channel->remote_check(kAdminTimeout));
  if (reply.steps().empty()) return no_remote();
  bool is_well = true;
  Json steps = Json::array();
  Rows rows{{"server", "step", "result", "ms"}};
  for (const v1::RemoteCheckResponse::Step& step : reply.steps()) {
    is_well = is_well && step.error().empty();
    steps.push_back({{"address", step.address()},
                     {"step", step.name()},
                     {"error", step.error().empty() ? Json() : Json(step.error())},
                     {"detail", step.detail()},
                     {"seconds", step.seconds()}});
    rows.push_back({step.address().empty() ? "-" : step.address(), step.name(),
                    step.error().empty() ? step.detail() : "FAILED: " + step.error(), fixed(step.seconds() * 1000, 1)});
  }
  if (flags.json) {
    print_json({{"ok", is_well}, {"steps", steps}});
  } else {
    print_table(rows);
  }
  return is_well ? 0 : 1;
}

}  // namespace

void add_remote(CLI::App& app, Action& action) {
  auto flags = std::make_shared<RemoteFlags>();
  CLI::App* remote = command_line::add_command(
      app, "remote", "Look at and check the daemon's cache beyond its node, make keys for it");
  remote->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, absl::StatusOr<int> (*run)(const RemoteFlags&),
                       command_line::Manual manual) {
    CLI::App* command = command_line::add_command(*remote, name, help, std::move(manual));
    add_json_to(*command, flags->json);
    command->callback([flags, run, &action] { action = [flags, run] { return run(*flags); }; });
    return command;
  };
  CLI::App* const make =
      add("keygen", "Make a key that signs results", keygen,
          {.details = "A node with the file (remote_writer_key) signs and sends what root and its daemon's own user "
                      "have built; nodes that trust the public key (remote_trusted_keys) load it. Starts no daemon.",
           .examples = {{"hearth remote keygen /etc/hearth/writer.key", "Makes a key, readable by its owner alone."},
                        {"hearth remote keygen --show /etc/hearth/writer.key", "Shows the public key of one."}}});
  make->add_option("file", flags->file, "The file to be made; none is overwritten")->type_name("FILE")->required();
  make->add_flag("--show", flags->show, "Show the public key of a file that is there");
  add_socket_to(*add("status", "Show what was asked of it, and what it answered", status,
                     {.details = "Starts no daemon.",
                      .examples = {{"hearth remote status --json", "Shows all counters, for programs."}},
                      .exit_statuses = {{1, "It is not asked for now, or something is wrong with it."}}}),
                flags->socket);
  add_socket_to(*add("check", "Try it step by step: connect, look up and, where this node sends, send and load", check,
                     {.details = "The daemon tries it, with its own files and rights. Starts no daemon.",
                      .examples = {{"hearth remote check", "Tries all servers that are configured."}},
                      .exit_statuses = {{1, "A step has failed."}}}),
                flags->socket);
}

}  // namespace hearth::cli
