// What is said of a command, from its description and options to help, manual page and completion.
#include "command_line/page.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "command_line/completion.h"
#include "command_line/help.h"
#include "command_line/manual.h"
#include "command_line/usage.h"

using namespace hearth::command_line;
using Catch::Matchers::Contains;

namespace {

struct Sample {
  Command app{"tool", "Do things", {.details = "First.\n\nSecond paragraph."}};
  std::string file, kind = "a", many;
  int count = 3;
  bool flag = false;

  Sample() {
    app.require_subcommand(1);
    Command* bend = add_command(app, "bend", "Bend a file",
                                {.examples = {{"tool bend x", "Bends x."}},
                                 .exit_statuses = {{1, "It broke."}, {7, "It is bent already."}},
                                 .environment = {{"TOOL_HOME", "Where things are."}},
                                 .see_also = {"toold(8)"}});
    bend->add_option("file", file, "What to bend")->type_name("FILE")->required();
    bend->add_option("-k,--kind", kind, "How")
        ->type_name("KIND")
        ->check(CLI::IsMember(std::vector<std::string>{"a", "b"}));
    bend->add_option("--count", count, "How often")->type_name("N")->check(CLI::Range(1, 9))->capture_default_str();
    bend->add_option("--to", many, "Where to")->type_name("NAME=FOLDER")->required();
    bend->add_flag("--flag", flag, "Also there; it's optional");
    add_hidden_command(app, "secret", "Not for people");
  }
  const CLI::App& bend() const { return *app.get_subcommand("bend"); }
};

std::string entry(const Page& page, const std::string& title, const std::string& name) {
  for (const Section& section : page.sections) {
    if (section.title != title) continue;
    for (const Entry& one : section.entries) {
      if (one.name == name) return one.text;
    }
  }
  return "none";
}

}  // namespace

TEST_CASE("a page says what an option takes, its range, choices and default") {
  const Sample sample;
  const Page page = page_of(sample.bend());
  CHECK(page.name == "tool bend");
  CHECK(page.synopsis == "tool bend [OPTIONS] FILE");
  CHECK(page.summary == "Bend a file.");
  CHECK(entry(page, "Arguments", "FILE") == "What to bend.");
  CHECK(entry(page, "Options", "-k, --kind KIND") == "How. One of: a, b.");
  CHECK(entry(page, "Options", "--count N") == "How often. From 1 to 9. Default: 3.");
  CHECK(entry(page, "Options", "--to NAME=FOLDER") == "Where to. Required.");
  CHECK(entry(page, "Options", "--flag") == "Also there; it's optional.");
  CHECK(entry(page, kGlobalGroup, "-h, --help") == "Show this help and exit.");
}

TEST_CASE("a page has the exit codes that all commands have, and its own") {
  const Sample sample;
  const Page page = page_of(sample.bend());
  REQUIRE(page.exit_statuses.size() == 4);
  CHECK(page.exit_statuses[1].text == "It broke.");
  CHECK(page.exit_statuses[3].name == "7");
  CHECK(page.see_also == std::vector<std::string>{"tool(1)", "toold(8)"});
}

TEST_CASE("what people do not see is in no list, and can be run") {
  const Sample sample;
  CHECK_THAT(help_text(page_of(sample.app)), Contains("bend") && !Contains("secret"));
  CHECK_THAT(bash_completion(sample.app), !Contains("secret"));
  CHECK(find_command(sample.app, "secret") != nullptr);
}

TEST_CASE("help is at most 80 columns wide, or as wide as a terminal, whatever the names") {
  Sample sample;
  std::string value;
  sample.app.get_subcommand("bend")
      ->add_option("--a-name-that-leaves-no-room-beside-it", value,
                   "Words that go on and on until they reach the end of the line and beyond it, as help texts do")
      ->type_name("SOMETHING");
  for (const std::size_t columns : {kHelpColumns, std::size_t{60}}) {
    std::istringstream lines(help_text(page_of(sample.bend()), columns));
    std::size_t longest = 0;
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    CHECK(longest <= columns);
    CHECK(longest > columns - 10);
  }
}

TEST_CASE("a manual page shows text as it stands") {
  Sample sample;
  bool flag = false;
  sample.app.get_subcommand("bend")->add_flag("--odd", flag, ".SH \"not a request\" \\fBnor an escape\\fP");
  const std::string text = manual_page(page_of(sample.bend()), 1, "Tool 1.0");
  CHECK_THAT(text, Contains(".TH \"TOOL-BEND\" 1 \"\" \"Tool 1.0\"\n.SH NAME\ntool\\-bend \\- Bend a file\n"));
  CHECK_THAT(text, Contains("\n\\&.SH \"not a request\" \\efBnor an escape\\efP.\n"));
  CHECK_THAT(text, Contains(".B \"\\-k, \\-\\-kind KIND\"\n"));
  CHECK_THAT(text, Contains(".BR tool (1) ,\n.BR toold (8)\n"));
}
