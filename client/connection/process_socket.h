// ProcessSocket: a connection of this process alone: a forked child has it closed, so that nobody else keeps it open or
// reads from it. Move-only; belongs to one thread at a time.
//
//   ProcessSocket socket(UniqueFd(fd));
//   send_packet(socket.get(), bytes);
#pragma once
#include <cstdint>
#include <utility>

#include "base/fork.h"
#include "base/unique_fd.h"

namespace hearth::client {

class ProcessSocket {
 public:
  ProcessSocket() = default;
  explicit ProcessSocket(UniqueFd fd) : fd_(std::move(fd)) {
    if (fd_) runtime::close_on_fork(fd_.get());
  }
  ProcessSocket(ProcessSocket&&) noexcept = default;
  ProcessSocket& operator=(ProcessSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(generation_, other.generation_);
    return *this;
  }
  ~ProcessSocket() { reset(); }

  int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  void reset() {
    if (!fd_) return;
    if (generation_ != runtime::fork_generation()) {
      fd_.release();  // closed already, and the number may be another file's
      return;
    }
    runtime::forget_close_on_fork(fd_.get());
    fd_.reset();
  }

 private:
  UniqueFd fd_;
  std::uint32_t generation_ = runtime::fork_generation();
};

}  // namespace hearth::client
