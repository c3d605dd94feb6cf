// What a test asks of a stand-in of a GPU's driver (stand_in.h), by names that its library exports. Thread-safe.
//
//   auto* const fail = reinterpret_cast<decltype(&hearth_stand_in_fail)>(dlsym(library, "hearth_stand_in_fail"));
//   fail("cuGraphLaunch", 1, 719);
#pragma once
#include <cstdint>

extern "C" {
// There is a stand-in; the runtime asks for it.
const char* hearth_stand_in();
// Call number `nth` from now on of `entry` gives `error`; "kernel" is the nth launch that a stream runs, whose error is
// seen by who waits. An error after which a driver's context is gone is given by all calls from then on. 0: none fails.
void hearth_stand_in_fail(const char* entry, int nth, int error);
// As new: nothing fails, nothing hangs, counts are 0. What there is stays.
void hearth_stand_in_reset();
// Streams do not get on with what is queued.
void hearth_stand_in_hang(bool hangs);
// Calls of `entry` since the reset; of "kernel": launches that ran.
std::uint64_t hearth_stand_in_calls(const char* entry);
// Streams, events, modules, graphs, executables and blocks of memory that were not destroyed.
std::uint64_t hearth_stand_in_live();
// Of the orders in which launches of a graph and invocations of a launch run; 1 at first.
void hearth_stand_in_seed(std::uint64_t seed);
}
