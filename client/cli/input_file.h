// Files that commands read as arguments. Standard input ("-") and pipes can be read only once and not be mapped, so
// they are kept in memory before a command runs, and the command gets a path that is opened like any other, as often as
// it likes; what is printed shows the name that was given (print.h). Errors: those of runtime::read_input.
//
//   add_input_file(*command, "model", flags->path, "ONNX file")->required();
//   absl::Status kept = keep_streams(parsed_command);   // main, before the action
#pragma once
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hearth::cli {

// A positional argument; `text` is what --help says of it, besides that "-" is standard input.
CLI::Option* add_input_file(CLI::App& command, const std::string& name, std::string& path, const std::string& text);
CLI::Option* add_input_files(CLI::App& command, const std::string& name, std::vector<std::string>& paths,
                             const std::string& text);

absl::Status keep_streams(const CLI::App& command);
// Whether `path` is one that keep_streams gave for standard input or a pipe.
bool is_kept_stream(const std::string& path);

}  // namespace hearth::cli
