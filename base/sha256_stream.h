// Sha256Stream: the SHA-256 of bytes that come in parts. Not thread-safe.
//
//   Sha256Stream stream;
//   while (read(part)) stream.update(part);
//   Digest digest = stream.digest();
#pragma once
#include <memory>
#include <string_view>

#include "base/sha256.h"

namespace hearth {

class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  void update(std::string_view bytes);
  // The digest of all bytes so far; the stream begins anew.
  Digest digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
