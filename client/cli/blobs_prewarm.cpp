// hearth blobs prewarm list | build | clean: compile blobs ahead of use, into the daemon's cache or a folder. Goes on
// after a failure; exits 1 if any blob failed or is unknown. What is cached is skipped, so a run that was ended goes on
// where it was.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/blob_selection.h"
#include "client/cli/blob_store.h"
#include "client/cli/blobs.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/print.h"
#include "client/cli/status_line.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BlobPrewarmFlags {
  BlobNames names;
  BlobStoreFlags store;
  unsigned jobs = 0;
  bool resume = false;  // for people who look for it
  bool json = false;
};

struct BlobFailure {
  std::string stem;
  std::string message;
};

// What has happened so far; on a terminal one line that is drawn over, else a line a blob.
class BlobProgress {
 public:
  BlobProgress(std::size_t total, bool quiet) : total_(total), quiet_(quiet), line_(!quiet && total > 0) {}

  void count(const std::string& stem, const absl::StatusOr<BuiltNow>& built) {
    std::lock_guard lock(mutex_);
    ++done_;
    if (!built.ok()) failures_.push_back({stem, std::string(built.status().message())});
    if (built.ok()) ++(built->compiled ? compiled_ : cached_);
    if (quiet_) return;
    const std::string how = !built.ok() ? "FAILED" : !built->compiled ? "cached" : fixed(built->seconds, 1) + " s";
    if (line_.is_shown()) {
      line_.show({.title = str_cat("blob ", done_, " of ", total_),
                  .state = str_cat(stem, " ", how),
                  .done = done_,
                  .total = total_});
    } else {
      note("[", done_, "/", total_, "] ", stem, " ", how);
    }
  }

  // Called by the thread that got the signal; ends the process and with it every call to the daemon.
  [[noreturn]] void interrupt(int signal) {
    std::lock_guard lock(mutex_);
    print_error("interrupted: ", compiled_, " compiled, ", total_ - done_, " left; run the command again to go on");
    ::_exit(128 + signal);
  }

  std::size_t compiled() const { return compiled_; }
  std::size_t cached() const { return cached_; }
  const std::vector<BlobFailure>& failures() const { return failures_; }

 private:
  const std::size_t total_;
  const bool quiet_;
  StatusLine line_;
  std::mutex mutex_;
  std::size_t done_ = 0, compiled_ = 0, cached_ = 0;
  std::vector<BlobFailure> failures_;
};

// Ctrl-C at any moment. Before other threads begin: they inherit the mask.
void end_on_signals(const std::shared_ptr<BlobProgress>& progress) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals, progress] {
    int signal = 0;
    if (::sigwait(&signals, &signal) == 0) progress->interrupt(signal);
  }).detach();
}

// `work(i)` for every i below `count`, `jobs` at a time.
void run_parallel(std::size_t count, unsigned jobs, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::min<std::size_t>(jobs, count); ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

blobs::BlobSpec spec_of(const BlobSelection& selection, const std::string& stem) {
  return blobs::blob_spec(selection.manifest, *selection.manifest.find(stem), selection.root);
}

unsigned jobs_of(const BlobPrewarmFlags& flags, const BlobStore& store) {
  return flags.jobs > 0 ? flags.jobs : store.default_jobs();
}

void report_unknown(const BlobSelection& selection) {
  for (const std::string& name : selection.unknown) {
    print_error(name, " is not in ", selection.manifest_path);
  }
}

absl::StatusOr<int> list_blobs(const BlobPrewarmFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(const BlobSelection selection, select_blobs(flags.names, /*all_unless_named=*/true));
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<BlobStore> store, open_blob_store(flags.store));
  std::vector<std::string> states(selection.stems.size());
  run_parallel(states.size(), jobs_of(flags, *store), [&](std::size_t i) {
    const absl::StatusOr<bool> cached = store->is_cached(spec_of(selection, selection.stems[i]));
    states[i] = !cached.ok() ? std::string(cached.status().message()) : *cached ? "cached" : "not cached";
  });
  if (flags.json) {
    Json list = Json::array();
    for (std::size_t i = 0; i < states.size(); ++i)
      list.push_back({{"stem", selection.stems[i]}, {"state", states[i]}});
    print_json({{"manifest", selection.manifest_path},
                {"place", store->place()},
                {"blobs", list},
                {"unknown", selection.unknown}});
  } else {
    std::vector<std::vector<std::string>> rows = {{"blob", "state"}};
    for (std::size_t i = 0; i < states.size(); ++i) rows.push_back({selection.stems[i], states[i]});
    for (const std::string& name : selection.unknown) rows.push_back({name, "unknown"});
    print_table(rows);
  }
  return selection.unknown.empty() ? 0 : 1;
}

absl::StatusOr<int> build_blobs(const BlobPrewarmFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(const BlobSelection selection, select_blobs(flags.names, /*all_unless_named=*/false));
  auto progress = std::make_shared<BlobProgress>(selection.stems.size(), flags.json);
  end_on_signals(progress);
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<BlobStore> store, open_blob_store(flags.store));
  run_parallel(selection.stems.size(), jobs_of(flags, *store), [&](std::size_t i) {
    const std::string& stem = selection.stems[i];
    progress->count(stem, store->build(spec_of(selection, stem)));
  });
  const bool good = progress->failures().empty() && selection.unknown.empty();
  if (flags.json) {
    Json failed = Json::array();
    for (const BlobFailure& failure : progress->failures())
      failed.push_back({{"stem", failure.stem}, {"error", failure.message}});
    print_json({{"compiled", progress->compiled()},
                {"cached", progress->cached()},
                {"failed", failed},
                {"unknown", selection.unknown}});
    return good ? 0 : 1;
  }
  report_unknown(selection);
  for (const BlobFailure& failure : progress->failures()) print_error(failure.stem, ": ", failure.message);
  print_summary(progress->compiled(), " compiled, ", progress->cached(), " cached before, ",
                progress->failures().size(), " failed, ", selection.unknown.size(), " unknown, in ", store->place());
  return good ? 0 : 1;
}

absl::StatusOr<int> clean_blobs(const BlobPrewarmFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<std::string> given, given_names(flags.names));
  if (given.empty() && !flags.names.all && flags.names.list_file.empty()) {
    return usage_error("name blobs, or give --blob-list FILE or --all");
  }
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<BlobStore> store, open_blob_store(flags.store));
  std::vector<std::string> stems;
  for (const std::string& name : given) stems.emplace_back(blobs::stem_of(name));
  absl::StatusOr<RemovedBlobs> removed = RemovedBlobs{};
  if (flags.names.all && flags.names.manifest.empty()) {
    removed = store->remove_all();
  } else {
    if (flags.names.all) {
      HEARTH_ASSIGN_OR_RETURN(const BlobSelection selection, select_blobs(flags.names, false));
      stems = selection.stems;
    }
    removed = store->remove(stems);
  }
  HEARTH_RETURN_IF_ERROR(removed.status());
  if (flags.json) {
    print_json({{"removed", removed->blobs}, {"kept", removed->kept}});
  } else {
    print_summary(removed->blobs, " removed, ", removed->kept, " kept because they are in use, in ", store->place());
  }
  return 0;
}

void add_options(CLI::App& command, BlobPrewarmFlags& flags) {
  command.add_option("blobs", flags.names.names, "Stems, file names, source paths or cached .so paths")
      ->type_name("FILE");
  command.add_option("--blob-list", flags.names.list_file, "File with one blob a line; - is standard input")
      ->type_name("FILE");
  command.add_flag("--all", flags.names.all, "Every blob; clean: of the manifest given with --manifest, else of all");
  command
      .add_option("--manifest", flags.names.manifest,
                  "The manifest; without it CK_JIT_MANIFEST, else ck_jit_manifest.json of "
                  "the root")
      ->type_name("FILE");
  command.add_option("--root", flags.names.root, "Folder of the sources; without it CK_JIT_ROOT, else the manifest's")
      ->type_name("FOLDER");
  command.add_option("--cache-dir", flags.store.cache_dir, "Keep blobs in this folder, without a daemon")
      ->type_name("FOLDER");
  command.add_flag("--direct", flags.store.direct,
                   "Keep them without a daemon, in CK_JIT_CACHE_DIR, else ~/.cache/ck_jit");
  command.add_flag("--daemon", flags.store.daemon, "Keep them in the daemon's cache, whatever the environment says");
  add_socket_to(command, flags.store.socket);
  command.add_option("--timeout", flags.store.timeout_s, "Seconds to wait for one blob")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("-j,--jobs", flags.jobs, "Blobs at once; without it as many as processors and memory allow")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--resume", flags.resume,
                   "Go on where an earlier run ended; always done: what is cached is skipped");
  add_json_to(command, flags.json);
}

}  // namespace

void add_blobs_prewarm(CLI::App& blobs, Action& action) {
  CLI::App* prewarm = command_line::add_command(blobs, "prewarm", "Compile blobs ahead of use");
  prewarm->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, absl::StatusOr<int> (*run)(const BlobPrewarmFlags&),
                       command_line::Manual manual) {
    auto flags = std::make_shared<BlobPrewarmFlags>();
    CLI::App* command = command_line::add_command(*prewarm, name, help, std::move(manual));
    add_options(*command, *flags);
    command->callback([flags, run, &action] { action = [flags, run] { return run(*flags); }; });
    return command;
  };
  add("list", "List the blobs of a manifest and which are cached", list_blobs,
      {.examples = {{"hearth blobs prewarm list --root /opt/mha/ck_jit", "Lists all blobs of an installation."}},
       .exit_statuses = {{1, "A blob that was named is unknown, or something else failed."}}});
  add("build", "Compile blobs that are not cached", build_blobs,
      {.details = "Goes on after a failure. A run that was ended goes on where it was: what is cached is skipped.",
       .examples = {{"hearth blobs prewarm build --all --root /opt/mha/ck_jit", "Compiles what is missing."}},
       .exit_statuses = {{1, "A blob failed to compile or is unknown."}}});
  add("clean", "Remove cached blobs", clean_blobs,
      {.examples = {{"hearth blobs prewarm clean --all", "Removes every blob that is not in use."}}});
}

}  // namespace hearth::cli
