// The floor under every RPC time: a unary echo over a unix socket between two processes, with nothing behind it.
// The server is a fork, so measure_echo is called before this process uses gRPC or starts a thread.
//
//   std::vector<double> times_us = measure_echo(place.file("echo.sock"), 4096, 2000);
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace hearth::bench {

// Round trip of each of `count` calls after as many to warm up, in microseconds. Throws std::runtime_error.
std::vector<double> measure_echo(const std::string& socket, std::size_t bytes, int count);

}  // namespace hearth::bench
