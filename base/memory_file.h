// Memory files: files without a name that live as long as somebody has them open or mapped, and that can be sealed:
// then nobody, whatever he holds, can write to them or change their size any more. Stateless; thread-safe.
// Errors: RESOURCE_EXHAUSTED when there is no memory file to be had; FAILED_PRECONDITION for one that is not sealed,
// is of another size, or is no memory file.
//
//   absl::StatusOr<UniqueFd> file = create_memory_file("hearth-weights", size_bytes);   // fill it, unmap it
//   absl::Status sealed = seal_memory_file(file->get());
#pragma once
#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace hearth::runtime {

// A file of zeros; closed on exec; cannot be executed where the kernel knows how to say so.
absl::StatusOr<UniqueFd> create_memory_file(const char* name, std::size_t size_bytes);
// While nothing maps it for writing.
absl::Status seal_memory_file(int fd);
// Whether `fd` is a memory file of this size that cannot change any more.
absl::Status check_sealed(int fd, std::size_t size_bytes);

}  // namespace hearth::runtime
