// The entry point of every CPU kernel artifact. Stand-alone C, versioned; both the code generator and
// the replay loop include this file and nothing else is agreed between them.
//
//   buffers[i]   address of kernel buffer slot i, aligned to its element; a slot that is stored to
//                overlaps no other slot
//   vars[i]      value of kernel variable slot i, within the bounds it was compiled for
//   grid_begin, grid_end   the half-open part of [0, grid) this call computes; parts of one launch may
//                run concurrently on any threads and write disjoint elements
//
// A kernel allocates nothing, makes no system call, keeps no state, uses at most 160 KiB of stack and returns when its
// part is done.
#ifndef HEARTH_BASE_KERNEL_ABI_H_
#define HEARTH_BASE_KERNEL_ABI_H_
#include <stdint.h>

#define HEARTH_KERNEL_ABI_VERSION 1

// The entry point of every GPU kernel artifact (Vulkan: "main" of a SPIR-V module, one push constant of 8 bytes at offset
// 0): its one argument is the device address of the launch's row, words of 64 bits in this order:
//
//   units          of the launch; 0: the kernel does nothing
//   buffers[n]     device address of each kernel buffer slot, as above
//   vars[m]        value of each kernel variable slot
//
// Invocation i of all computes units i, i + all, i + 2 all, ...: any number of workgroups is right. The row may change
// between submissions of what was recorded once.
#define HEARTH_ROW_UNITS 0u
#define HEARTH_ROW_BUFFER(slot) (1u + (slot))
#define HEARTH_ROW_VAR(num_buffers, slot) (1u + (num_buffers) + (slot))

#ifdef __cplusplus
extern "C" {
#endif
typedef void (*hearth_kernel_fn)(void* const* buffers, const int64_t* vars, int64_t grid_begin, int64_t grid_end);
// A GPU kernel compiled for this host's processor, to be run where no such GPU is: one invocation of it a call. It takes
// units from `first` on, in steps of `step`: those of all invocations, or where a workgroup computes a unit together those
// of all workgroups; then the library has a symbol of the kernel's name and HEARTH_SIMT_SHARED_BYTES, an int64_t, and the
// kernel calls barrier() where it waits for the others of its workgroup, with a number of its own for each such place.
typedef struct hearth_simt_workgroup {
  int64_t invocation; /* of the workgroup */
  void* shared;       /* aligned to 64 bytes */
  void (*barrier)(const struct hearth_simt_workgroup* workgroup, int64_t place);
  /* what the subgroup's matrix unit of a layout (compiler/ir/matrix_layout.h) adds to the invocation's sums, of what its
     invocations have of both operands; a barrier, too */
  void (*multiply)(const struct hearth_simt_workgroup* workgroup, int64_t place, int64_t layout, const float* a,
                   const float* b, float* sums);
  /* the value of the invocation whose number in the subgroup is this one's xor the mask; a barrier, too */
  int64_t (*exchange)(const struct hearth_simt_workgroup* workgroup, int64_t place, int64_t mask, int64_t value);
} hearth_simt_workgroup;
typedef void (*hearth_simt_fn)(const uint64_t* row, int64_t first, int64_t step,
                               const hearth_simt_workgroup* workgroup);
#define HEARTH_SIMT_SHARED_BYTES "_shared_bytes"
#ifdef __cplusplus
}
#endif
#endif
