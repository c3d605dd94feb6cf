// compile_directly: runs hearth-blobc, which compiles a blob into the cache folder or finds it there.
//
// In a process group of its own, without a shell, with no other descriptors than its output, and with a wall limit
// after which the group is killed. Blocking; thread-safe. Errors: BlobError NOT_FOUND (no hearth-blobc),
// PERMISSION_DENIED (the cache folder), DEADLINE_EXCEEDED, INTERNAL (a crash, by signal; an answer that is none), else
// as hearth-blobc says, with the last lines of what it and the compiler wrote.
//   CompiledFile file = compile_directly(environment, request);
#pragma once
#include <string>

#include "blobs/loader/blob_environment.h"
#include "blobs/loader/blob_request.h"

namespace hearth::blob {

CompiledFile compile_directly(const BlobEnvironment& environment, const BlobRequest& request);

// The file of {"path": …, "sha256": …}, else throws what {"code": …, "message": …} says; `log` is put at the end of the
// message.
CompiledFile file_of_reply(const std::string& reply, const std::string& who, const std::string& log);

}  // namespace hearth::blob
