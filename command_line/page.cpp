#include "command_line/page.h"

#include <algorithm>

namespace hearth::command_line {
namespace {

// What CLI11 appends to a type's name for every check: "N:INT in [1 - 9]", "KIND:{hip,c++}".
std::string check_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  return colon == std::string::npos ? "" : type.substr(colon + 1);
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// "From 1 to 9. ", from CLI11's "INT in [1 - 9]".
std::string range_text(const std::string& check) {
  const std::size_t begin = check.find(" in ["), middle = check.find(" - ");
  if (begin == std::string::npos || middle == std::string::npos || check.back() != ']') return "";
  const std::string least = check.substr(begin + 5, middle - begin - 5);
  return " From " + least + " to " + check.substr(middle + 3, check.size() - middle - 4) + ".";
}

std::string sentence(std::string text) {
  if (!text.empty() && std::string_view(".!?:").find(text.back()) == std::string_view::npos) text += '.';
  return text;
}

std::string text_of(const CLI::Option& option) {
  std::string text = sentence(option.get_description());
  text += range_text(check_of(option));
  const std::vector<std::string> choices = value_kind_of(option).choices;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    text += (i == 0 ? " One of: " : ", ") + choices[i] + (i + 1 == choices.size() ? "." : "");
  }
  if (option.get_required() && !option.get_positional()) text += " Required.";
  if (!option.get_default_str().empty()) text += " Default: " + option.get_default_str() + ".";
  if (!option.get_envname().empty()) text += " Environment: " + option.get_envname() + ".";
  return text;
}

std::string argument_name(const CLI::Option& option) {
  std::string name = option.get_name(/*positional=*/true);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::string synopsis_of(const CLI::App& command) {
  std::string text = full_name(command) + " [OPTIONS]";
  for (const CLI::Option* argument : arguments_of(command)) {
    std::string name = argument_name(*argument);
    if (argument->get_items_expected_max() > 1) name += "...";
    text += argument->get_required() ? " " + name : " [" + name + "]";
  }
  if (!commands_of(command).empty()) text += " COMMAND";
  return text;
}

void add_sections(const CLI::App& command, Page& page) {
  Section arguments{"Arguments", {}}, options{"Options", {}}, global{kGlobalGroup, {}}, commands{"Commands", {}};
  for (const CLI::Option* argument : arguments_of(command)) {
    arguments.entries.push_back({argument_name(*argument), text_of(*argument)});
  }
  for (const CLI::Option* option : options_of(command)) {
    Section& section = option->get_group() == kGlobalGroup ? global : options;
    section.entries.push_back({names_of(*option), text_of(*option)});
  }
  for (const CLI::App* child : commands_of(command)) {
    commands.entries.push_back({child->get_name(), sentence(child->get_description())});
  }
  for (Section* section : {&commands, &arguments, &options, &global}) {
    if (!section->entries.empty()) page.sections.push_back(std::move(*section));
  }
}

std::vector<Entry> exit_statuses_of(const Manual& manual) {
  std::vector<ExitStatus> all = {{0, "Everything that was asked for was done and written."},
                                 {1, "Something failed; standard error says what."},
                                 {2, "The command line is wrong."}};
  for (const ExitStatus& own : manual.exit_statuses) {
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const ExitStatus& one) { return one.code == own.code; });
    if (known != all.end()) {
      known->meaning = own.meaning;
    } else {
      all.push_back(own);
    }
  }
  std::vector<Entry> entries;
  for (const ExitStatus& status : all) entries.push_back({std::to_string(status.code), status.meaning});
  return entries;
}

// "hearth-run": the name of its manual page.
std::string manual_name(const CLI::App& command) {
  std::string name = full_name(command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

}  // namespace

ValueKind value_kind_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  ValueKind kind{option.get_type_name().substr(0, option.get_type_name().find(':')), {}};
  const std::string check = check_of(option);
  if (check.size() > 2 && check.front() == '{' && check.back() == '}') {
    kind.choices = split(check.substr(1, check.size() - 2), ",");
  }
  return kind;
}

std::string names_of(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  const std::string value = value_kind_of(option).name;
  return value.empty() ? names : names + " " + value;
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options, global;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    (option->get_group() == kGlobalGroup ? global : options).push_back(option);
  }
  options.insert(options.end(), global.begin(), global.end());
  return options;
}

std::vector<const CLI::Option*> arguments_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

Page page_of(const CLI::App& command) {
  Page page{.name = full_name(command),
            .synopsis = synopsis_of(command),
            .summary = sentence(command.get_description()),
            .details = {},
            .sections = {},
            .examples = {},
            .exit_statuses = {},
            .environment = {},
            .see_also = {}};
  add_sections(command, page);
  Manual manual;
  if (const auto* described = dynamic_cast<const Command*>(&command)) manual = described->manual();
  if (!manual.details.empty()) page.details = split(manual.details, "\n\n");
  page.examples = manual.examples;
  // A command that has commands is not run itself.
  if (commands_of(command).empty() || command.get_parent() == nullptr) page.exit_statuses = exit_statuses_of(manual);
  for (const Variable& variable : manual.environment) page.environment.push_back({variable.name, variable.meaning});
  if (command.get_parent() != nullptr) page.see_also.push_back(manual_name(*command.get_parent()) + "(1)");
  for (const CLI::App* child : commands_of(command)) page.see_also.push_back(manual_name(*child) + "(1)");
  page.see_also.insert(page.see_also.end(), manual.see_also.begin(), manual.see_also.end());
  return page;
}

}  // namespace hearth::command_line
