#include "command_line/command.h"

#include <memory>
#include <utility>

namespace hearth::command_line {

Command::Command(const std::string& name, const std::string& summary, Manual manual)
    : CLI::App(summary, name), manual_(std::move(manual)) {
  set_help_flag("-h,--help", "Show this help and exit.")->group(kGlobalGroup);
}

Command* add_command(CLI::App& parent, const std::string& name, const std::string& summary, Manual manual) {
  return static_cast<Command*>(parent.add_subcommand(std::make_shared<Command>(name, summary, std::move(manual))));
}

Command* add_hidden_command(CLI::App& parent, const std::string& name, const std::string& summary) {
  Command* command = add_command(parent, name, summary);
  command->group("");
  return command;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* child : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!child->get_group().empty()) commands.push_back(child);
  }
  return commands;
}

const CLI::App* find_command(const CLI::App& group, const std::string& name) {
  for (const CLI::App* child : group.get_subcommands([](const CLI::App*) { return true; })) {
    if (child->get_name() == name) return child;
  }
  return nullptr;
}

const CLI::App& parsed_command(const CLI::App& program) {
  const auto parsed = program.get_subcommands();
  return parsed.empty() ? program : parsed_command(*parsed.back());
}

}  // namespace hearth::command_line
