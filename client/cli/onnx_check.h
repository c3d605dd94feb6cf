// hearth onnx check; registers itself on the app "onnx" as command.h says.
#pragma once
#include "client/cli/command.h"

namespace hearth::cli {

void add_onnx_check(CLI::App& onnx, Action& action);

}  // namespace hearth::cli
