// What RunnerProcess and its child process say to each other over pipes: a message is its length and its bytes, which
// are numbers of 64 bits and byte strings. Both ends are of one build. Errors: std::runtime_error when the other end is
// gone.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hearth::conformance {

class WireWriter {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void text(std::string_view text) {
    number(text.size());
    bytes_.append(text);
  }
  // False when nobody reads.
  bool send(int fd) const {
    const std::uint64_t size = bytes_.size();
    return write_all(fd, reinterpret_cast<const char*>(&size), sizeof(size)) &&
           write_all(fd, bytes_.data(), bytes_.size());
  }

 private:
  static bool write_all(int fd, const char* data, std::size_t size) {
    while (size > 0) {
      const ssize_t written = ::write(fd, data, size);
      if (written <= 0) return false;
      data += written, size -= static_cast<std::size_t>(written);
    }
    return true;
  }
  std::string bytes_;
};

class WireReader {
 public:
  // False when the other end is gone.
  bool receive(int fd) {
    std::uint64_t size = 0;
    if (!read_all(fd, reinterpret_cast<char*>(&size), sizeof(size))) return false;
    bytes_.resize(size);
    at_ = 0;
    return read_all(fd, bytes_.data(), size);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::string_view text() { return take(number()); }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size() - at_) throw std::runtime_error("a message is too short");
    at_ += size;
    return std::string_view(bytes_).substr(at_ - size, size);
  }
  static bool read_all(int fd, char* data, std::size_t size) {
    while (size > 0) {
      const ssize_t got = ::read(fd, data, size);
      if (got <= 0) return false;
      data += got, size -= static_cast<std::size_t>(got);
    }
    return true;
  }
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace hearth::conformance
