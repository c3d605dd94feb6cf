// Tables and facts: complete where nobody looks at the width, fitting where somebody does.
#include "client/cli/table.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "client/cli/display_width.h"

using namespace hearth::cli;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const Rows kRows = {{"kernel", "time", "from"},
                    {"conv", "3.0 ms", std::string(300, 'n')},
                    {"выход", "1 us", "сеть"},
                    {"出力", "1 us", "x"}};

}  // namespace

TEST_CASE("columns are as wide as their widest cell is displayed, whatever its bytes are") {
  const std::vector<std::string> lines = lines_of(table(kRows));
  CHECK(lines[0] == "kernel  time    from");
  CHECK(lines[2] == "выход   1 us    сеть");
  CHECK(lines[3] == "出力    1 us    x");  // two letters of two columns
}

TEST_CASE("a table that is not on a terminal is complete") {
  CHECK(lines_of(table(kRows))[1] == "conv    3.0 ms  " + std::string(300, 'n'));
}

TEST_CASE("on a terminal no line is wider than it, and what is cut is the widest") {
  for (const std::size_t columns : {80U, 40U, 25U}) {
    const std::vector<std::string> lines = lines_of(table(kRows, columns));
    for (const std::string& line : lines) CHECK(display_width(line) <= columns);
    CHECK(display_width(lines[1]) == columns);
    CHECK(lines[0].substr(0, 14) == "kernel  time  ");
    CHECK(lines[1].substr(lines[1].size() - 3) == "…");
  }
  CHECK(table(kRows, 1000) == table(kRows));
}

TEST_CASE("a cell is one line without control characters") {
  CHECK(table({{"a\nb\x1b[2J", "c"}}) == "a\\nb\\x1b[2J  c\n");
  CHECK(facts({{"name", "a\nb\u202e"}}) == "name  a\\nb\\u202e\n");
}

TEST_CASE("facts go on below instead of being cut") {
  const std::string text = facts({{"cache", "/a/b, 3 entries, 16.3 KiB of 10.0 GiB"}, {"x", "y"}}, 30);
  CHECK(text == "cache  /a/b, 3 entries, 16.3\n       KiB of 10.0 GiB\nx      y\n");
  const std::string word = "pppppppppppppppppppppppppppppp";  // no place to break it
  CHECK(facts({{"x", word + " and"}}, 20) == "x  " + word + "\n   and\n");
}

TEST_CASE("text is cut between letters and counts columns") {
  CHECK(display_width("выход") == 5);
  CHECK(display_width("出力") == 4);
  CHECK(display_width("e\u0301") == 1);  // a letter and its accent
  CHECK(shorten("выход", 5) == "выход");
  CHECK(shorten("выход", 3) == "вы…");
  CHECK(shorten("出力", 3) == "出…");
  CHECK(shorten("出力", 2) == "…");  // half a letter is none
  CHECK(shorten("abc", 0).empty());
  CHECK(shorten_front("/models/выход.onnx", 11) == "…выход.onnx");
  CHECK(shorten_front("xe\u0301y", 2) == "…y");
}
