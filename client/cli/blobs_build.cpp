// hearth blobs build full|quick: aiter's attention libraries with blobs that are compiled on first call.
#include <CLI/CLI.hpp>
#include <memory>

#include "client/cli/blobs.h"
#include "client/cli/print.h"
#include "compiler/blobs/build.h"

namespace hearth::cli {
namespace {

absl::StatusOr<int> print(const absl::StatusOr<blobs::BuildReport>& report) {
  if (!report.ok()) return report.status();
  for (const std::string& line : report->lines) print_summary(line);
  print_summary("temporary folder, for `hearth blobs build quick`: ", report->tmp_dir);
  return 0;
}

void add_full(CLI::App& build, Action& action) {
  CLI::App* command = build.add_subcommand("full", "Build the libraries; their blobs are only recorded");
  auto input = std::make_shared<blobs::FullBuildInput>();
  auto no_verify = std::make_shared<bool>(false);
  command->add_option("--aiter-dir", input->aiter_dir, "An aiter checkout")->required()->envname("CK_JIT_AITER_DIR");
  command->add_option("--gpu-archs", input->gpu_archs, "Archs with semicolons between: \"gfx942;gfx950\"")->required();
  command->add_option("--ck-tile-bf16", input->ck_tile_bf16, "CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT")
      ->capture_default_str();
  command->add_option("--tmp-dir", input->tmp_dir, "Scratch folder, kept for quick rebuilds; default: a new one");
  command->add_option("--install-dir", input->install_dir, "Where to put the libraries and ck_jit/");
  command->add_option("--python", input->python, "Runs compile.py")->capture_default_str();
  command->add_option("--rocm-home", input->rocm_home, "The real ROCm; default: $ROCM_HOME, $ROCM_PATH, /opt/rocm");
  command->add_option("--compiler", input->compiler, "The real compiler; default: bin/hipcc of the ROCm home");
  command->add_option("--toolchain", input->toolchain, "hip, or c++ for libraries of plain C++")->capture_default_str();
  command->add_option("--api", input->apis, "fwd, bwd or both")->delimiter(',')->check(CLI::IsMember({"fwd", "bwd"}));
  command->add_flag("--no-verify", *no_verify, "Do not compare with the original dispatchers' undefined symbols");
  command->add_flag("-v,--verbose", input->verbose, "Show what compile.py prints");
  command->callback([input, no_verify, &action] {
    input->verify = !*no_verify;
    input->progress = [](const std::string& line) { note(line); };
    action = [input] { return print(blobs::build_full(*input)); };
  });
}

void add_quick(CLI::App& build, Action& action) {
  CLI::App* command =
      build.add_subcommand("quick", "Link the libraries of a full build again with this hearth's loader");
  auto input = std::make_shared<blobs::QuickBuildInput>();
  command->add_option("--tmp-dir", input->tmp_dir, "The full build's")->required();
  command->add_option("--aiter-dir", input->aiter_dir, "Where the checkout is now; default: where it was")
      ->envname("CK_JIT_AITER_DIR");
  command->add_option("--install-dir", input->install_dir, "Where to put the libraries and ck_jit/");
  command->add_flag("-v,--verbose", input->verbose, "Say more");
  command->callback([input, &action] { action = [input] { return print(blobs::build_quick(*input)); }; });
}

}  // namespace

void add_blobs_build(CLI::App& app, Action& action) {
  CLI::App* build = app.add_subcommand("build", "Build aiter's attention libraries with lazily compiled blobs");
  build->require_subcommand(1);
  add_full(*build, action);
  add_quick(*build, action);
}

}  // namespace hearth::cli
