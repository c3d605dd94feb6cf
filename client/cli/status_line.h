// StatusLine: one line of stderr's terminal that says what is being done, how far it is and for how long, rewritten in
// place. It follows the terminal's width, never fills its last column, is drawn ten times a second at most, by a thread
// of its own (so that the time goes on when nothing else does), begins after a moment, and is gone when the object is.
// It needs no escape sequence. Without a terminal, with TERM=dumb or with --quiet there is none. Thread-safe.
//
//   StatusLine line(/*wanted=*/!flags.json);
//   line.show({.title = path, .state = "kernel 3 of 11", .done = 3, .total = 11});
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace hearth::cli {

struct Status {
  std::string title;  // what is worked on; its end is kept when it is long
  std::string state;
  std::size_t done = 0, total = 0;  // total > 0: a bar is drawn where there is room
  std::chrono::seconds budget{0};   // > 0: the longest time that it may take
};

// The line that is at most `columns` wide. Pure function.
std::string status_text(const Status& status, std::chrono::seconds elapsed, std::size_t columns);

class StatusLine {
 public:
  explicit StatusLine(bool wanted);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool is_shown() const { return drawer_ != nullptr; }
  void show(Status status);

 private:
  class Drawer;
  std::unique_ptr<Drawer> drawer_;  // null: nothing is drawn
};

// Takes away what is drawn, so that something else can be printed; the next drawing brings it back.
void clear_status_line();

}  // namespace hearth::cli
