#include "command_line/usage.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "command_line/nearest.h"

namespace hearth::command_line {
namespace {

std::vector<std::string> command_names(const CLI::App& group) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(group)) names.push_back(command->get_name());
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::string meant = nearest(word, known);
  return meant.empty() ? "" : "; did you mean '" + meant + "'?";
}

// What the parser says, in words for people: "--threads needs a value" for "--threads: 1 required INT missing".
std::string in_plain_words(const CLI::ParseError& error) {
  static const std::regex no_value("(\\S+): \\d+ required .* missing"),
      too_many("(\\S+): At Most 1 required but received (\\d+)"),
      takes_none("(\\S+) was given a disallowed flag override"), missing("([a-z][^ ]*) is required"),
      no_member("(\\S+: )(.*) not in \\{(.*)\\}"), outside("(\\S+: )Value (.*) not in range (\\S+) to (\\S+)");
  const std::string text = error.what();
  std::smatch match;
  if (std::regex_match(text, match, no_value)) return match.str(1) + " needs a value";
  if (std::regex_match(text, match, too_many))
    return match.str(1) + " was given " + match.str(2) + " times; give it once";
  if (std::regex_match(text, match, takes_none)) return match.str(1) + " takes no value";
  if (std::regex_match(text, match, no_member))
    return match.str(1) + "'" + match.str(2) + "' is none of " +
           std::regex_replace(match.str(3), std::regex(","), ", ");
  if (std::regex_match(text, match, outside))
    return match.str(1) + "'" + match.str(2) + "' is not a number from " + match.str(3) + " to " + match.str(4);
  if (std::regex_match(text, match, missing)) {
    std::string argument = match.str(1);
    std::transform(argument.begin(), argument.end(), argument.begin(), ::toupper);
    return argument + " is missing";
  }
  return text;
}

std::string help_hint(const CLI::App& command) { return " (see " + full_name(command) + " --help)"; }

// The first word that stands where a command's name is expected and names none; empty when there is no such word.
// No program and no group of commands has an option with a value.
std::string unknown_command(int argc, const char* const* argv, const CLI::App** group) {
  for (int i = 1; i < argc && !commands_of(**group).empty(); ++i) {
    const std::string word = argv[i];
    if (word.empty() || word[0] == '-') continue;
    const CLI::App* command = find_command(**group, word);
    if (command == nullptr) return word;
    *group = command;
  }
  return "";
}

}  // namespace

std::string unknown_command_message(const CLI::App& group, const std::string& word) {
  const std::vector<std::string> known = command_names(group);
  std::string message = "'" + word + "' is no command of " + full_name(group) + suggestion(word, known);
  if (!known.empty()) message += (message.back() == '?' ? " Commands: " : "; commands: ") + list_of(known);
  return message + help_hint(group);
}

std::string usage_message(const CLI::App& program, int argc, const char* const* argv, const CLI::ParseError& error) {
  const CLI::App* group = &program;
  if (const std::string word = unknown_command(argc, argv, &group); !word.empty()) {
    return unknown_command_message(*group, word);
  }
  const CLI::App& command = parsed_command(program);
  std::vector<std::string> unexpected = command.remaining();
  // An option that is not known leaves its value behind, too.
  std::stable_partition(unexpected.begin(), unexpected.end(), [](const auto& word) { return word[0] == '-'; });
  if (!unexpected.empty() && unexpected[0][0] == '-') {
    const std::string name = unexpected[0].substr(0, unexpected[0].find('='));
    return full_name(command) + " has no option '" + name + "'" + suggestion(name, option_names(command)) +
           help_hint(command);
  }
  if (!unexpected.empty()) return "'" + unexpected[0] + "' is one argument too many" + help_hint(command);
  if (!commands_of(command).empty()) {
    return full_name(command) + " needs a command: " + list_of(command_names(command)) + help_hint(command);
  }
  return in_plain_words(error) + help_hint(command);
}

}  // namespace hearth::command_line
