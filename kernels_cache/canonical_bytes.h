// Canonical little-endian encoding for keys and index rows: fixed-width integers and length-prefixed bytes.
//
// Writer appends, Reader is bounded and never reads past its input: after a failed read ok() is false and every further
// read gives zero or empty. Plain values, no shared state. Example:
//   std::string bytes = Writer().u32(7).bytes("abc").take();
//   Reader reader(bytes); reader.u32(); reader.bytes(); assert(reader.ok() && reader.at_end());
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::cache {

class Writer {
 public:
  Writer& u8(std::uint8_t value) { return raw(value, 1); }
  Writer& u32(std::uint32_t value) { return raw(value, 4); }
  Writer& u64(std::uint64_t value) { return raw(value, 8); }
  Writer& i64(std::int64_t value) { return raw(static_cast<std::uint64_t>(value), 8); }
  Writer& bytes(std::string_view value) {
    u64(value.size());
    out_.append(value);
    return *this;
  }
  Writer& fixed(std::string_view value) {
    out_.append(value);
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  Writer& raw(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) out_.push_back(static_cast<char>(value >> (8 * i)));
    return *this;
  }
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint32_t u32() { return static_cast<std::uint32_t>(raw(4)); }
  std::uint64_t u64() { return raw(8); }
  std::string_view bytes() { return fixed(u64()); }
  std::string_view fixed(std::uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::uint64_t raw(std::uint64_t width) {
    std::uint64_t value = 0;
    std::string_view taken = fixed(width);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
    }
    return value;
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace hearth::cache
