// The release's version, as `hearthd --version` and Stats say it; cmake passes it in.
#pragma once

namespace hearth::daemon {

inline constexpr char kVersion[] = HEARTH_VERSION;

}  // namespace hearth::daemon
