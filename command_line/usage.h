// What is wrong with a command line that CLI11 refused: one line that names the nearest word and where help is.
//
//   catch (const CLI::ParseError& error) { complain(usage_message(app, argc, argv, error)); return 2; }
#pragma once
#include <string>

#include "command_line/command.h"

namespace hearth::command_line {

std::string usage_message(const CLI::App& program, int argc, const char* const* argv, const CLI::ParseError& error);
// That `word` is no command of `group`, and which there are.
std::string unknown_command_message(const CLI::App& group, const std::string& word);

}  // namespace hearth::command_line
