// Who operates a daemon: root and the daemon's own user. What they build is everybody's, and what the daemon knows of its
// own places is told to nobody else.
#pragma once
#include <sys/types.h>
#include <unistd.h>

namespace hearth::daemon {

inline bool is_operator(uid_t user) { return user == 0 || user == ::geteuid(); }

}  // namespace hearth::daemon
