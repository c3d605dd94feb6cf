#!/bin/sh
# libhearth.so must link neither LLVM nor lld nor SQLite nor gRPC, and must find everything it links.
set -eu
links=$(ldd "$1")
if printf '%s\n' "$links" | grep -Ei 'llvm|lld|clang|sqlite|grpc|curl|not found'; then
  echo "libhearth.so links what it must not (above)" >&2
  exit 1
fi
printf '%s\n' "$links" | grep -q libprotobuf   # the list is a real one
