// The subcommands of `hearth blobs`; each registers itself on the app "blobs" as command.h says.
#pragma once
#include "client/cli/command.h"

namespace hearth::cli {

void add_blobs_build(CLI::App& blobs, Action& action);      // blobs_build.cpp: build full|quick
void add_blobs_intercept(CLI::App& blobs, Action& action);  // blobs_intercept.cpp
void add_blobs_doctor(CLI::App& blobs, Action& action);     // blobs_doctor.cpp
void add_blobs_prewarm(CLI::App& blobs, Action& action);    // blobs_prewarm.cpp: prewarm list|build|clean

}  // namespace hearth::cli
