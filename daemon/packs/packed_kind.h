// The kinds of a pack's entries, as their statements name them, and the names of their files. None is a kind of result in
// a remote cache, so that no statement of the one counts for the other.
#pragma once

namespace hearth::daemon {

inline constexpr char kPackedPlan[] = "packed plan", kPackedKernel[] = "packed kernel", kPackedBlob[] = "packed blob",
                      kPackedTuning[] = "packed tuning", kPackedReads[] = "packed reads",
                      kPackedContents[] = "packed contents";
inline constexpr char kPackedPrefix[] = "packed ";
// An entry's files: its key's material, and the one that comes with it. A plan's kernels are stated, too.
inline constexpr char kPackedMaterial[] = "material", kPackedContent[] = "content", kPackedKernelFolder[] = "k/";
inline constexpr char kPackDomain[] = "hearth.pack.v1";  // of a pack's contents, and of what a node knows of it

}  // namespace hearth::daemon
