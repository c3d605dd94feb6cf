// The line that shows progress, on a terminal of the test's own: what a person would see, character by character.
#include "client/cli/status_line.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/utf8.h"
#include "client/cli/display_width.h"
#include "client/cli/print.h"

using namespace hearth;
using namespace hearth::cli;
using Catch::Matchers::Contains;
using std::chrono::seconds;

namespace {

// Stands behind stderr while it lives.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : stderr_(::dup(2)) {
    int slave = -1;
    REQUIRE(::openpty(&master_, &slave, nullptr, nullptr, nullptr) == 0);
    ::fcntl(master_, F_SETFL, O_NONBLOCK);
    ::dup2(slave, 2);
    ::close(slave);
    resize(columns);
    ::setenv("TERM", "xterm", 1);
  }
  ~Terminal() {
    ::dup2(stderr_, 2);
    ::close(stderr_);
    ::close(master_);
  }
  void resize(unsigned short columns) {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = columns;
    REQUIRE(::ioctl(master_, TIOCSWINSZ, &size) == 0);
    columns_ = columns;
  }
  // Waits until what is displayed contains `text`.
  void await(const std::string& text) {
    for (int round = 0; line_.find(text) == std::string::npos; ++round) {
      REQUIRE(round < 600);
      pollfd entry = {master_, POLLIN, 0};
      ::poll(&entry, 1, 100);
      look();
    }
  }
  // Reads what was written and displays it as terminals do.
  void look() {
    char buffer[4096];
    for (ssize_t got; (got = ::read(master_, buffer, sizeof buffer)) > 0;) {
      std::string_view rest(buffer, static_cast<std::size_t>(got));
      written_.append(buffer, static_cast<std::size_t>(got));
      while (!rest.empty()) {
        const CodePoint point = first_code_point(rest);
        display(rest.substr(0, point.bytes));
        rest.remove_prefix(point.bytes);
      }
    }
  }
  const std::string& line() const { return line_; }
  std::size_t widest() const { return widest_; }
  const std::string& written() const { return written_; }
  const std::vector<std::string>& printed() const { return printed_; }  // lines that were ended
  bool has_escapes() const { return has_escapes_; }

 private:
  void display(std::string_view letter) {
    if (letter == "\r") {
      at_ = 0;
      column_ = 0;
    } else if (letter == "\n") {
      printed_.push_back(line_.substr(0, line_.find_last_not_of(' ') + 1));
      line_.clear();
      at_ = 0;
    } else {
      has_escapes_ |= static_cast<unsigned char>(letter[0]) < 0x20;
      const std::size_t replaced = at_ < line_.size() ? first_code_point(std::string_view(line_).substr(at_)).bytes : 0;
      line_.replace(at_, replaced, letter);
      at_ += letter.size();
      column_ += display_width(letter);
      widest_ = std::max(widest_, column_);
    }
  }

  int stderr_, master_ = -1;
  std::size_t columns_ = 0, at_ = 0, column_ = 0, widest_ = 0;
  std::string line_;
  std::vector<std::string> printed_;
  std::string written_;
  bool has_escapes_ = false;
};

std::string blanks_removed(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

const Status kLong{.title = "/a/very/long/path/that/leads/to/the/model/выход.onnx",
                   .state = "kernel 3 of 11, 14 tried, 1.32x (hearth_r_1024_1024_32_4_4_4_with_a_long_name)",
                   .done = 3,
                   .total = 11,
                   .budget = seconds(60)};

}  // namespace

TEST_CASE("the text of a status fits any width and keeps the file's name, the state and the time as long as it can") {
  for (std::size_t columns = 0; columns < 200; ++columns) {
    CHECK(display_width(status_text(kLong, seconds(12), columns)) <= columns);
  }
  CHECK_THAT(status_text(kLong, seconds(12), 79),
             Contains("выход.onnx: kernel 3 of 11, 14 tried, 1.32x") && Contains(", 12 s of 60 s"));
  CHECK_THAT(status_text(kLong, seconds(12), 39), Contains("ход.onnx: kernel 3") && Contains(", 12 s of 60 s"));
  CHECK_THAT(status_text(kLong, seconds(12), 200), Contains("[#####---------------] kernel 3 of 11"));
  CHECK(status_text({.title = "m", .state = "queued"}, seconds(0), 40) == "m: queued, 0 s");
  CHECK_THAT(status_text({.title = "m", .state = "x", .done = 1, .total = 2}, seconds(3700), 100),
             Contains("[##########----------] x, 1 h 1 min"));
  CHECK(status_text({.title = "a\n\x1b[2J", .state = "b\r"}, seconds(1), 60) == "a\\n\\x1b[2J: b\\r, 1 s");
}

TEST_CASE("progress is one line that is rewritten, narrower than the terminal, and leaves nothing") {
  for (const unsigned short columns : {80, 40}) {
    Terminal terminal(columns);
    {
      StatusLine line(true);
      REQUIRE(line.is_shown());
      line.show(kLong);
      terminal.await("kernel");
      line.show({.title = "m", .state = "short"});
      terminal.await("m: short");
      CHECK_THAT(terminal.line(), !Contains("kernel"));  // nothing of the longer line is left
    }
    terminal.look();
    CHECK(blanks_removed(terminal.line()).empty());
    CHECK(terminal.printed().empty());
    CHECK(terminal.widest() < columns);
    CHECK_FALSE(terminal.has_escapes());
  }
}

TEST_CASE("progress follows the terminal's width") {
  Terminal terminal(100);
  StatusLine line(true);
  line.show(kLong);
  terminal.await("kernel 3 of 11");
  const std::size_t wide = terminal.widest();
  terminal.resize(150);
  line.show({.title = kLong.title, .state = kLong.state + "more", .done = 4, .total = 11});
  terminal.await("more");
  CHECK(terminal.widest() > wide);
  CHECK(terminal.widest() < 150);
}

TEST_CASE("however often the state changes, the line is drawn ten times a second at most") {
  Terminal terminal(80);
  const auto start = std::chrono::steady_clock::now();
  {
    StatusLine line(true);
    for (int i = 0; std::chrono::steady_clock::now() - start < std::chrono::seconds(1); ++i) {
      line.show({.title = "m", .state = "step " + std::to_string(i)});
      terminal.look();
    }
  }
  terminal.look();
  const double tenths = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 10;
  int draws = 0;  // every text is longer than the one before, and written once
  for (std::size_t at = 0; (at = terminal.written().find("m: step ", at)) != std::string::npos; ++at) ++draws;
  CHECK(draws > 1);
  CHECK(draws <= tenths + 1);
}

TEST_CASE("what is printed meanwhile stands on lines of its own") {
  Terminal terminal(80);
  StatusLine line(true);
  line.show({.title = "m", .state = "working"});
  terminal.await("m: working");
  print_error("something failed");
  while (terminal.printed().empty()) terminal.look();  // it is written before print_error returns
  CHECK(terminal.printed() == std::vector<std::string>{"hearth: something failed"});
  terminal.await("m: working");  // again, below
}

TEST_CASE("without a terminal that can do it there is no progress") {
  {
    Terminal terminal(80);
    ::setenv("TERM", "dumb", 1);
    CHECK_FALSE(StatusLine(true).is_shown());
    ::unsetenv("TERM");
    CHECK_FALSE(StatusLine(true).is_shown());
  }
  {
    Terminal terminal(80);
    set_verbosity(Verbosity::kQuiet);
    CHECK_FALSE(StatusLine(true).is_shown());
    set_verbosity(Verbosity::kNormal);
    CHECK_FALSE(StatusLine(false).is_shown());
    CHECK(StatusLine(true).is_shown());
  }
}
