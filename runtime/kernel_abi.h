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
#ifndef HEARTH_RUNTIME_KERNEL_ABI_H_
#define HEARTH_RUNTIME_KERNEL_ABI_H_
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

#ifdef __cplusplus
extern "C" {
#endif
typedef void (*hearth_kernel_fn)(void* const* buffers, const int64_t* vars, int64_t grid_begin, int64_t grid_end);
#ifdef __cplusplus
}
#endif
#endif
