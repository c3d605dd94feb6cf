// What the C entry points share: a call that reports instead of throwing.
#pragma once
#include <cstddef>
#include <cstdio>
#include <exception>

#define SAMPLE_EXPORT extern "C" __attribute__((visibility("default")))

// 0 when a kernel ran, 1 when the dispatcher has none for these traits, 2 with the text when something was thrown.
template <typename Call>
int sample_call(Call call, char* error, std::size_t error_size) {
  const auto say = [&](const char* text) {
    if (error != nullptr && error_size != 0) std::snprintf(error, error_size, "%s", text);
  };
  try {
    if (call() >= 0) return 0;
    say("no kernel for these traits");
    return 1;
  } catch (const std::exception& e) {
    say(e.what());
  } catch (...) {
    say("something that is no std::exception was thrown");
  }
  return 2;
}
