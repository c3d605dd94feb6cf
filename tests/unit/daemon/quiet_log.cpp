// Tests kill workers by the hundred; the daemon's log would bury what fails.
#include <spdlog/spdlog.h>

namespace {
[[maybe_unused]] const bool quiet = (spdlog::set_level(spdlog::level::off), true);
}  // namespace
