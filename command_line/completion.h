// Completion scripts for shells, made of a program's Command tree: commands, options, choices; values named FILE or
// FOLDER complete to files or folders. They need nothing but the shell. Pure functions.
//
//   print(bash_completion(app));   // eval "$(hearth completion bash)"
#pragma once
#include <string>

#include "command_line/command.h"

namespace hearth::command_line {

std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);

}  // namespace hearth::command_line
