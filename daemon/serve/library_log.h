// What gRPC and Protobuf have to say goes into the daemon's log, cut to a kilobyte and at most a line of each of their
// places a minute: they quote what clients send, and write to standard error without limit. Call once, before gRPC is
// used.
//   route_library_logs();
#pragma once

namespace hearth::daemon {

void route_library_logs();

}  // namespace hearth::daemon
