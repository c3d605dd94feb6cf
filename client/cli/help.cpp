// hearth help [COMMAND...]: what --help prints. hearth completion: scripts for shells. hearth manual, which people do
// not see: manual pages, for `cmake --build … --target man` and packages.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/file.h"
#include "base/status_macros.h"
#include "client/cli/command.h"
#include "client/cli/print.h"
#include "client/cli/terminal.h"
#include "command_line/completion.h"
#include "command_line/help.h"
#include "command_line/manual.h"
#include "command_line/usage.h"

namespace hearth::cli {
namespace {

absl::Status write_manual(const CLI::App& command, const std::string& folder) {
  const command_line::Page page = command_line::page_of(command);
  const std::string file = str_cat(folder, "/", command_line::manual_name(page), ".1");
  if (absl::Status written = runtime::write_file(file, {manual_page(page, 1, "Hearth " HEARTH_VERSION)});
      !written.ok()) {
    return written;
  }
  for (const CLI::App* child : command_line::commands_of(command)) {
    HEARTH_RETURN_IF_ERROR(write_manual(*child, folder));
  }
  return absl::OkStatus();
}

}  // namespace

void print_help(const CLI::App& command) {
  constexpr std::size_t kNarrowest = 40;
  std::size_t columns = terminal_columns(STDOUT_FILENO);
  if (columns == 0) columns = command_line::kHelpColumns;
  columns = std::clamp(columns, kNarrowest, command_line::kHelpColumns);
  print_lines(command_line::help_text(command_line::page_of(command), columns));
}

void add_help(CLI::App& app, Action& action) {
  auto words = std::make_shared<std::vector<std::string>>();
  command_line::Command* command =
      command_line::add_command(app, "help", "Show the help of a command",
                                {.examples = {{"hearth help cache clear", "Shows the help of hearth cache clear."}}});
  command->add_option("command", *words, "The command, word by word; none: the whole program")->type_name("COMMAND");
  command->callback([words, &app, &action] {
    action = [words, &app]() -> absl::StatusOr<int> {
      const CLI::App* found = &app;
      for (const std::string& word : *words) {
        const CLI::App* child = command_line::find_command(*found, word);
        if (child == nullptr) return usage_error(command_line::unknown_command_message(*found, word));
        found = child;
      }
      print_help(*found);
      return 0;
    };
  });

  auto folder = std::make_shared<std::string>();
  CLI::App* manual = command_line::add_hidden_command(app, "manual", "Write the manual pages");
  manual->add_option("folder", *folder, "Folder to write them into; it exists")->type_name("FOLDER")->required();
  manual->callback([folder, &app, &action] {
    action = [folder, &app]() -> absl::StatusOr<int> {
      HEARTH_RETURN_IF_ERROR(write_manual(app, *folder));
      return 0;
    };
  });
}

void add_completion(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  command_line::Command* command = command_line::add_command(
      app, "completion", "Print a script that makes a shell complete hearth's command lines",
      {.details = "The script completes commands, options, their values where there are few, and file names. It is "
                  "made for this version of hearth.",
       .examples = {{"eval \"$(hearth completion bash)\"", "Completes in this bash; ~/.bashrc is where it stays."},
                    {"hearth completion zsh > ~/.zfunc/_hearth", "Completes in zsh, with ~/.zfunc in its fpath."}}});
  command->add_option("shell", *shell, "The shell")
      ->type_name("SHELL")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh"}));
  command->callback([shell, &app, &action] {
    action = [shell, &app]() -> absl::StatusOr<int> {
      print_lines(*shell == "bash" ? command_line::bash_completion(app) : command_line::zsh_completion(app));
      return 0;
    };
  });
}

}  // namespace hearth::cli
