// Which calls fail, which are counted, and what is said of those that are forbidden.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tests/stand_in/control.h"
#include "tests/stand_in/faults.h"
#include "tests/stand_in/stand_in.h"

namespace hearth::stand_in {
namespace {

struct Faults {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> calls;
  std::string entry;  // that is to fail
  int nth = 0, error = 0;
  int lost = 0;  // what all calls give
  bool initialized = false;
  bool (*has_device)() = nullptr;
};

Faults& faults() {
  static Faults& all = *new Faults;
  return all;
}

// What a context does not survive.
bool is_sticky(int error) { return error == 4 || error == 214 || (error >= 700 && error != 701 && error <= 719); }

}  // namespace

void broken(const char* entry, const char* what) {
  std::fprintf(stderr, "the stand-in of the driver: %s: %s\n", entry, what);
  std::abort();
}

int fault_of(const char* entry) {
  Faults& all = faults();
  const std::lock_guard lock(all.mutex);
  ++all.calls[entry];
  if (all.lost != 0) return all.lost;
  if (all.nth == 0 || all.entry != entry || --all.nth > 0) return kSuccess;
  if (is_sticky(all.error)) all.lost = all.error;
  return all.error;
}

int call(const char* entry, const std::function<int()>& body) {
  Faults& all = faults();
  const bool asks_nothing = std::strstr(entry, "Init") != nullptr || std::strstr(entry, "GetErrorName") != nullptr;
  if (!asks_nothing && !all.initialized) return kNotInitialized;
  const bool of_all_devices = std::strstr(entry, "Device") != nullptr || std::strstr(entry, "Driver") != nullptr ||
                              std::strstr(entry, "Ctx") != nullptr;
  if (!asks_nothing && !of_all_devices && !all.has_device()) broken(entry, "this thread has chosen no device");
  if (const int error = fault_of(entry)) return error;
  return body();
}

const char* error_name(const char* prefix, int error) {
  static auto& names = *new std::map<int, std::string>;
  const std::lock_guard lock(faults().mutex);
  std::string& name = names[error];
  if (name.empty()) name = std::string(prefix) + "_" + std::to_string(error);
  return name.c_str();
}

void set_initialized() { faults().initialized = true; }
void set_has_device(bool (*has_device)()) { faults().has_device = has_device; }

int num_devices() {
  const char* const text = std::getenv("HEARTH_STAND_IN_DEVICES");
  return text == nullptr ? 1 : std::atoi(text);
}

const char* arch(const char* usual) {
  const char* const text = std::getenv("HEARTH_STAND_IN_ARCH");
  return text == nullptr ? usual : text;
}

}  // namespace hearth::stand_in

using hearth::stand_in::faults;

extern "C" {

__attribute__((visibility("default"))) const char* hearth_stand_in() { return "hearth's stand-in of a GPU's driver"; }

__attribute__((visibility("default"))) void hearth_stand_in_fail(const char* entry, int nth, int error) {
  const std::lock_guard lock(faults().mutex);
  faults().entry = entry;
  faults().nth = nth;
  faults().error = error;
}

__attribute__((visibility("default"))) void hearth_stand_in_reset() {
  {
    const std::lock_guard lock(faults().mutex);
    faults().nth = faults().lost = 0;
    faults().calls.clear();
  }
  hearth::stand_in::hang(false);
}

__attribute__((visibility("default"))) void hearth_stand_in_hang(bool hangs) { hearth::stand_in::hang(hangs); }

__attribute__((visibility("default"))) std::uint64_t hearth_stand_in_calls(const char* entry) {
  const std::lock_guard lock(faults().mutex);
  return faults().calls[entry];
}

}  // extern "C"
