// hearth blobs intercept: runs any build with hearth-hipcc in place of hipcc. hearth blobs post-build: what
// hearth-hipcc runs in place of the link of libmha_*.so; not for people.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/program_path.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/build.h"
#include "blobs/tools/command_line.h"
#include "blobs/tools/fake_home.h"
#include "blobs/tools/post_build.h"
#include "blobs/tools/staged_root.h"
#include "client/cli/blobs.h"
#include "client/cli/print.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

struct InterceptFlags {
  blobs::FakeHomeInput home;
  std::string root;  // of the sources
  bool no_verify = false;
  std::vector<std::string> command;
};

volatile pid_t running_build = -1;

// Runs the build to its end and gives what waitpid says of it; signals are for the build.
absl::StatusOr<int> run_build(std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t build = -1;
  // The build's own command is the user's word: "./make.sh" is of the current folder as in any shell.
  const std::optional<std::string> program =
      command[0].find('/') != std::string::npos ? command[0] : runtime::find_on_path(command[0]);
  if (!program) return absl::NotFoundError(str_cat(command[0], " is not on PATH"));
  if (const int error = ::posix_spawn(&build, program->c_str(), nullptr, nullptr, argv.data(), environ); error != 0)
    return absl::ErrnoToStatus(error, str_cat(command[0], " cannot be run"));
  running_build = build;
  for (const int number : {SIGINT, SIGQUIT}) std::signal(number, SIG_IGN);  // the terminal sends them to both
  for (const int number : {SIGTERM, SIGHUP}) std::signal(number, [](int sent) { ::kill(running_build, sent); });
  int status = 0;
  while (::waitpid(build, &status, 0) < 0)
    if (errno != EINTR) return absl::ErrnoToStatus(errno, "the build's end");
  return status;
}

absl::StatusOr<int> intercept(InterceptFlags flags) {
  const std::string cwd = std::filesystem::current_path().string();
  HEARTH_ASSIGN_OR_RETURN(std::string tmp, blobs::make_tmp_dir(flags.home.folder));
  const std::string root = blobs::absolute_path(flags.root, cwd);
  blobs::FakeHomeInput& home = flags.home;
  home.folder = tmp;
  if (!home.rocm_home.empty()) home.rocm_home = blobs::absolute_path(home.rocm_home, cwd);
  home.hearth = blobs::this_hearth();
  home.hipcc = blobs::this_hipcc();
  home.mapping = {{root, ""}};
  home.default_root = blobs::default_root(tmp + "/ck_jit");
  if (absl::Status status = blobs::stage_root(home.mapping, tmp + "/ck_jit", blobs::bin_folder()); !status.ok())
    return status;
  home.default_name = blobs::default_name();
  home.verify = !flags.no_verify;
  HEARTH_ASSIGN_OR_RETURN(const blobs::FakeHome fake, blobs::make_fake_home(home));
  for (const auto& [name, value] : fake.environment) setenv(name.c_str(), value.c_str(), 1);
  HEARTH_ASSIGN_OR_RETURN(const int status, run_build(flags.command));
  std::error_code none;
  const auto bytes = std::filesystem::file_size(fake.config.records, none);
  if (none || bytes == 0) {
    note("no blob was recorded: the build compiled none, or not with hipcc or $CXX of ", fake.path);
  } else {
    note("blobs are recorded in ", fake.config.records);
  }
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  std::signal(WTERMSIG(status), SIG_DFL);
  std::raise(WTERMSIG(status));  // as the build ended
  return kFailure;
}

void add_post_build(CLI::App& app, Action& action) {
  CLI::App* command =
      command_line::add_hidden_command(app, "post-build", "What hearth-hipcc runs in place of a library's link");
  auto config = std::make_shared<std::string>(), link = std::make_shared<std::string>();
  command->add_option("--config", *config)->required();
  command->add_option("--link", *link)->required();
  command->callback([config, link, &action] {
    action = [config, link]() -> absl::StatusOr<int> {
      const auto line = [](const std::string& text) { print_error(text); };
      HEARTH_ASSIGN_OR_RETURN(const blobs::PostBuildReport report, blobs::post_build(*config, *link, line));
      print_line("hearth: ", blobs::describe(report));
      return 0;
    };
  });
}

}  // namespace

void add_blobs_intercept(CLI::App& app, Action& action) {
  CLI::App* command = command_line::add_command(
      app, "intercept", "Run a build with its blobs recorded instead of compiled",
      {.details = "The build's exit code is this command's.",
       .examples = {{"hearth blobs intercept --tmp-dir /tmp/mha -- make -j8", "Runs a build of one's own."}},
       .exit_statuses = {{0, "The build succeeded."}, {1, "The build ended with 1, or could not be run."}}});
  auto flags = std::make_shared<InterceptFlags>();
  flags->home.toolchain = blobs::kHipToolchain;
  flags->root = ".";
  command->add_option("--rocm-home", flags->home.rocm_home, "The real ROCm")->type_name("FOLDER");
  command->add_option("--compiler", flags->home.compiler, "The real compiler; without it bin/hipcc of the ROCm home")
      ->type_name("FILE");
  command->add_option("--toolchain", flags->home.toolchain, "What compiles blobs; c++ is for libraries of plain C++")
      ->type_name("KIND")
      ->check(CLI::IsMember(std::vector<std::string>{blobs::kHipToolchain, blobs::kCxxToolchain}))
      ->capture_default_str();
  command->add_option("--tmp-dir", flags->home.folder, "Scratch folder, kept for quick rebuilds; without it a new one")
      ->type_name("FOLDER");
  command->add_option("--aiter-dir", flags->root, "Root of the sources")
      ->type_name("FOLDER")
      ->envname("CK_JIT_AITER_DIR")
      ->capture_default_str();
  command->add_flag("--no-verify", flags->no_verify, "Do not compare with the original dispatchers' undefined symbols");
  command->add_option("command", flags->command, "The build, after --")->type_name("COMMAND")->required();
  command->callback([flags, &action] { action = [flags] { return intercept(*flags); }; });
  add_post_build(app, action);
}

}  // namespace hearth::cli
