// --target: what commands compile for that need not run it here: a target that has a name (runtime/devices), or a
// record in a file, as the manifest of `hearth emit` has it under "target".
//
//   add_target_to(*command, flags->target);
//   const absl::StatusOr<v1::Target> target = target_of(flags.target, *config);
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "hearth/prepare.h"
#include "hearth/v1/artifact.pb.h"

namespace CLI {
class App;
}

namespace hearth::cli {

// After ModelFlags::add_to: it excludes --device and --threads, which the target says itself.
void add_target_to(CLI::App& command, std::string& target);

// `text` as the user gave it; empty: this machine, as `config` says. A usage error offers the nearest name; errors of a
// file name the file. Whether a record makes sense is the compiler's to judge.
absl::StatusOr<v1::Target> target_of(const std::string& text, const client::PrepareConfig& config);

}  // namespace hearth::cli
