#include "base/sha256_stream.h"

#include <nettle/sha2.h>

namespace hearth {

struct Sha256Stream::State {
  sha256_ctx context;
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) { sha256_init(&state_->context); }
Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::update(std::string_view bytes) {
  sha256_update(&state_->context, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

Digest Sha256Stream::digest() {
  Digest digest{};
  sha256_digest(&state_->context, digest.size(), digest.data());
  return digest;
}

}  // namespace hearth
