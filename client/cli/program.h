// The whole command line as a tree of commands, of which main, `hearth help`, the completion scripts and the manual
// pages are made.
//
//   Program program;
//   program.app.parse(argc, argv);
//   return program.action();
#pragma once
#include "client/cli/command.h"
#include "command_line/command.h"

namespace hearth::cli {

struct Program {
  Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  command_line::Command app;
  Action action;  // of the command that was parsed
  bool quiet = false, verbose = false;
};

}  // namespace hearth::cli
