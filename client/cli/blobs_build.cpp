// hearth blobs build full|quick: aiter's attention libraries with blobs that are compiled on first call.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "blobs/tools/build.h"
#include "client/cli/blobs.h"
#include "client/cli/model_flags.h"
#include "client/cli/print.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

absl::StatusOr<int> print(const absl::StatusOr<blobs::BuildReport>& report) {
  HEARTH_RETURN_IF_ERROR(report.status());
  for (const std::string& line : report->lines) print_summary(line);
  print_summary("temporary folder, for `hearth blobs build quick`: ", report->tmp_dir);
  return 0;
}

void add_full(CLI::App& build, Action& action) {
  CLI::App* command = command_line::add_command(
      build, "full", "Build the libraries; their blobs are only recorded",
      {.examples = {{"hearth blobs build full --aiter-dir aiter --gpu-archs gfx942 --tmp-dir tmp",
                     "Builds the libraries for one GPU architecture."}}});
  auto input = std::make_shared<blobs::FullBuildInput>();
  auto no_verify = std::make_shared<bool>(false);
  command->add_option("--aiter-dir", input->aiter_dir, "An aiter checkout")
      ->type_name("FOLDER")
      ->required()
      ->envname("CK_JIT_AITER_DIR");
  // Semicolons are what GPU_ARCHS of aiter's own build has.
  auto archs = std::make_shared<std::vector<std::string>>();
  add_list(*command, "--gpu-archs", *archs, "GPU architectures: gfx942,gfx950")->type_name("ARCH,...")->required();
  command->add_option("--ck-tile-bf16", input->ck_tile_bf16, "What CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT is defined as")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--tmp-dir", input->tmp_dir, "Scratch folder, kept for quick rebuilds; without it a new one")
      ->type_name("FOLDER");
  command->add_option("--install-dir", input->install_dir, "Where to put the libraries and ck_jit/")
      ->type_name("FOLDER");
  command->add_option("--python", input->python, "Python program that runs compile.py")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--rocm-home", input->rocm_home, "The real ROCm; without it ROCM_HOME, ROCM_PATH, /opt/rocm")
      ->type_name("FOLDER");
  command->add_option("--compiler", input->compiler, "The real compiler; without it bin/hipcc of the ROCm home")
      ->type_name("FILE");
  command->add_option("--toolchain", input->toolchain, "What compiles blobs; c++ is for libraries of plain C++")
      ->type_name("KIND")
      ->check(CLI::IsMember(std::vector<std::string>{blobs::kHipToolchain, blobs::kCxxToolchain}))
      ->capture_default_str();
  add_list(*command, "--api", input->apis, "Which libraries; without it both")
      ->type_name("API,...")
      ->check(CLI::IsMember(std::vector<std::string>{"fwd", "bwd"}));
  command->add_flag("--no-verify", *no_verify, "Do not compare with the original dispatchers' undefined symbols");
  command->callback([input, archs, no_verify, &action] {
    input->gpu_archs = absl::StrJoin(*archs, ";");
    input->verify = !*no_verify;
    input->progress = [](const std::string& line) { note(line); };
    action = [input] {
      input->verbose = verbosity() == Verbosity::kVerbose;
      return print(blobs::build_full(*input));
    };
  });
}

void add_quick(CLI::App& build, Action& action) {
  CLI::App* command =
      command_line::add_command(build, "quick", "Link the libraries of a full build again with this hearth's loader",
                                {.examples = {{"hearth blobs build quick --tmp-dir /tmp/mha --install-dir /opt/mha",
                                               "Links and installs again."}}});
  auto input = std::make_shared<blobs::QuickBuildInput>();
  command->add_option("--tmp-dir", input->tmp_dir, "Scratch folder of the full build")->type_name("FOLDER")->required();
  command->add_option("--aiter-dir", input->aiter_dir, "Where the checkout is now; without it where it was")
      ->type_name("FOLDER")
      ->envname("CK_JIT_AITER_DIR");
  command->add_option("--install-dir", input->install_dir, "Where to put the libraries and ck_jit/")
      ->type_name("FOLDER");
  command->callback([input, &action] {
    action = [input] {
      input->verbose = verbosity() == Verbosity::kVerbose;
      return print(blobs::build_quick(*input));
    };
  });
}

}  // namespace

void add_blobs_build(CLI::App& app, Action& action) {
  CLI::App* build = command_line::add_command(
      app, "build", "Build aiter's attention libraries with blobs that are compiled on first call");
  build->require_subcommand(1);
  add_full(*build, action);
  add_quick(*build, action);
}

}  // namespace hearth::cli
