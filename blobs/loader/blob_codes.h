// The codes of BlobError that libhearth_blob itself gives: gRPC's numbers, as docs/errors.md explains them.
#pragma once

namespace hearth::blob {

inline constexpr int kInvalidArgument = 3;
inline constexpr int kDeadlineExceeded = 4;
inline constexpr int kNotFound = 5;
inline constexpr int kPermissionDenied = 7;
inline constexpr int kFailedPrecondition = 9;
inline constexpr int kInternal = 13;
inline constexpr int kUnavailable = 14;
inline constexpr int kDataLoss = 15;

}  // namespace hearth::blob
