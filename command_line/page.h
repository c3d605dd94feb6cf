// Page: all that is said about one command, read from its Command and the options that it has. What --help prints and
// what the manual page says are two renderings of it. Pure functions.
//
//   const Page page = page_of(*app.get_subcommand("run"));
//   std::cout << help_text(page);
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "command_line/command.h"

namespace hearth::command_line {

// A name and what is said of it.
struct Entry {
  std::string name;
  std::string text;
};

struct Section {
  std::string title;  // "Options"
  std::vector<Entry> entries;
};

struct Page {
  std::string name;      // "hearth run"
  std::string synopsis;  // "hearth run [OPTIONS] MODEL"
  std::string summary;
  std::vector<std::string> details;  // paragraphs
  std::vector<Section> sections;     // arguments, options, commands
  std::vector<Example> examples;
  std::vector<Entry> exit_statuses;
  std::vector<Entry> environment;
  std::vector<std::string> see_also;
};

Page page_of(const CLI::App& command);

// What an option's value is called, "FILE", and which values it may have, where those are few.
struct ValueKind {
  std::string name;  // empty: a flag without a value
  std::vector<std::string> choices;
};
ValueKind value_kind_of(const CLI::Option& option);
// "-o, --output FILE"
std::string names_of(const CLI::Option& option);
// The options and arguments that a help page shows, global ones last.
std::vector<const CLI::Option*> options_of(const CLI::App& command);
std::vector<const CLI::Option*> arguments_of(const CLI::App& command);

}  // namespace hearth::command_line
