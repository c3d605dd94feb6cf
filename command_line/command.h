// Command: a program or subcommand of CLI11 together with what people need to know of it besides its flags. --help,
// the manual page and the completion scripts are all made of this one description (help.h, manual.h, completion.h).
// A flag's value is named by its type_name: FILE and FOLDER are completed as such, also at its end (NAME=FILE).
//
//   Command app("hearth", "Compiles and runs models.", {});
//   Command* run = add_command(app, "run", "Run a model.", {.examples = {{"hearth run m.onnx", "Runs it once."}}});
//   run->add_option("model", path, "The model.")->type_name("FILE")->required();
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hearth::command_line {

struct Example {
  std::string command;
  std::string text;  // one sentence
};

struct ExitStatus {
  int code;
  std::string meaning;
};

struct Variable {
  std::string name;
  std::string meaning;
};

struct Manual {
  std::string details = {};                    // sentences; an empty line between paragraphs
  std::vector<Example> examples = {};          //
  std::vector<ExitStatus> exit_statuses = {};  // besides or instead of what 0, 1 and 2 mean everywhere
  std::vector<Variable> environment = {};      // besides those that options name
  std::vector<std::string> see_also = {};      // manual pages: "hearthd(8)"
};

class Command : public CLI::App {
 public:
  Command(const std::string& name, const std::string& summary, Manual manual);
  const Manual& manual() const { return manual_; }

 private:
  Manual manual_;
};

// `summary` is one sentence.
Command* add_command(CLI::App& parent, const std::string& name, const std::string& summary, Manual manual = {});
// One that people do not see: left out of help, manual pages and completion.
Command* add_hidden_command(CLI::App& parent, const std::string& name, const std::string& summary);

// Options of this group stand at the end of every command's.
inline constexpr char kGlobalGroup[] = "Global options";

// "hearth blobs prewarm".
std::string full_name(const CLI::App& command);
// The visible subcommands, in the order in which they were added.
std::vector<const CLI::App*> commands_of(const CLI::App& command);
// Any subcommand of that name, also one that people do not see; null when there is none.
const CLI::App* find_command(const CLI::App& group, const std::string& name);
// The deepest command that was named on the command line.
const CLI::App& parsed_command(const CLI::App& program);

}  // namespace hearth::command_line
