// libhearth_blob_client.so: the daemon's CompileBlob as a C function, for libraries that load it when a blob is first
// called (blobs/loader). JSON in, JSON out; nothing else is exported, so that it may live beside another gRPC or
// protobuf in one process.
//
// Request: {"stem", "toolchain", "root", "source", "flags": [], "archs": [], "exports": [], "timeout_ms"}, and if
// wanted "glue" and "socket". Reply: {"path", "sha256"}, a file of the daemon's cache or, when that cannot be opened, a
// private copy (blob_file.h); or {"code", "message"} with gRPC's code, which is also what the function returns (0: a
// path). A daemon is started when none runs, unless HEARTH_NO_AUTOSTART says not to. Thread-safe; never throws.
//   char* reply = nullptr;
//   const int code = hearth_blob_acquire(request, &reply);
//   hearth_blob_free(reply);
#pragma once

extern "C" {

int hearth_blob_acquire(const char* request_json, char** reply_json);
void hearth_blob_free(char* reply_json);

}  // extern "C"
