// GuardedBlock: memory that ends exactly where an unmapped page begins, so that a kernel reading or writing past the
// end dies at once; bytes in front are a canary. Filled with 0xCD. Movable, frees itself.
//
//   GuardedBlock block(100);
//   kernel(block.data(), …);
//   REQUIRE(block.front_is_untouched());
#pragma once
#include <cstddef>
#include <cstdint>

namespace hearth::conformance {

class GuardedBlock {
 public:
  // `alignment` of data(), a power of two up to 64; slack behind the end is less than it.
  explicit GuardedBlock(std::size_t size, std::size_t alignment = 1);
  ~GuardedBlock();
  GuardedBlock(GuardedBlock&& other) noexcept;
  GuardedBlock& operator=(GuardedBlock&&) = delete;
  std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t alignment() const { return alignment_; }
  bool front_is_untouched() const;

 private:
  std::uint8_t* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t alignment_ = 1;
};

}  // namespace hearth::conformance
