// libhearth_blob: calls blobs that are compiled when they are first called. Linked statically into the library whose
// dispatchers hearth rewrote (libmha_fwd.so); nothing in this header needs LLVM, gRPC, protobuf or absl.
//
// A Site is one export of one blob. get() gives the function: a load and a test once it is there, else it is found, if
// need be compiled (by hearthd, once a node; without one, by $CK_JIT_ROOT/hearth-blobc), loaded with RTLD_LOCAL and
// kept for the life of the process. Thread-safe: threads that call a blob first share one load. Errors: BlobError,
// whose text names blob, place, reason and the compiler's last lines; a failure is remembered for HEARTH_BLOB_RETRY_S
// seconds (default 30), then the next call tries again. A SiteGroup is all the blobs that one call leads to.
//   using Fn = float (*)(const ck_tile::stream_config&, fmha_fwd_args);
//   static constexpr hearth::blob::Dispatcher dispatcher{&hearth_blob_library, 0x6b1d…};
//   static hearth::blob::Site site{&dispatcher, 17, 0};
//   float ms = reinterpret_cast<Fn>(site.get())(s, a);
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace hearth::blob {

inline constexpr std::uint32_t kLibraryVersion = 2;

// What went wrong, in the words of docs/errors.md; `code` is gRPC's. Visible, to be caught outside of the library.
class __attribute__((visibility("default"))) BlobError : public std::runtime_error {
 public:
  BlobError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// The embedded manifest: generated C++ defines one Library a shared object. Pointers live as long as the code.
struct LibraryBlob {
  const char* stem;
  const char* source;          // relative to the root
  std::uint32_t flags;         // index into Library::flag_sets
  const char* const* exports;  // null-terminated list of mangled prefixes
};
struct Library {
  std::uint32_t version;                // kLibraryVersion
  std::uint64_t list_digest;            // of the blobs' stems and exports in order: what a Dispatcher's sites number
  const char* name;                     // "libmha_fwd"
  const char* toolchain;                // "hip" or "c++"
  const char* default_root;             // CK_JIT_ROOT baked in: absolute, relative to this .so's folder, or ""
  const char* default_name;             // CK_JIT_NAME baked in, e.g. "ck_jit"
  const char* const* archs;             // null-terminated
  const char* const* const* flag_sets;  // null-terminated lists, themselves null-terminated
  const LibraryBlob* blobs;             // sorted by stem
  std::uint32_t num_blobs;
};

// The object that sites are in: it was compiled for one list of blobs, and calls nothing of another list.
struct Dispatcher {
  const Library* library;
  std::uint64_t list_digest;
};

class Site {
 public:
  constexpr Site(const Dispatcher* dispatcher, std::uint32_t blob, std::uint32_t which_export)
      : dispatcher_(dispatcher), blob_(blob), export_(which_export) {}

  void* get() {
    void* function = function_.load(std::memory_order_acquire);
    return __builtin_expect(function != nullptr, 1) ? function : resolve();
  }
  bool is_loaded() const { return function_.load(std::memory_order_acquire) != nullptr; }

 private:
  void* resolve();  // throws BlobError

  const Dispatcher* dispatcher_;
  std::uint32_t blob_;
  std::uint32_t export_;
  std::atomic<void*> function_{nullptr};
};

// The blobs that one call of a dispatcher leads to: its first want() asks for all of them at once, so that they compile
// side by side and not one after another. Rows are arrays of sites, one a blob; a null row is no blob. Thread-safe.
//   static hearth::blob::SiteGroup group{sites[3], sites[17], sites[99]};
//   group.want();                                       // a load and a test once all are there; throws nothing
//   group.site(1, 0).get();
class SiteGroup {
 public:
  static constexpr std::size_t kMaxBlobs = 4;

  template <typename... Rows>
  constexpr explicit SiteGroup(Rows*... rows) : rows_{rows...} {
    static_assert(sizeof...(Rows) <= kMaxBlobs);
  }

  // What cannot be had is left to the site's own get(), which says why.
  void want() {
    if (__builtin_expect(!all_loaded_.load(std::memory_order_acquire), 0)) ask();
  }
  Site& site(std::size_t row, std::size_t which_export) const { return rows_[row][which_export]; }

 private:
  void ask();

  Site* rows_[kMaxBlobs];
  std::atomic<bool> all_loaded_{false};
};

}  // namespace hearth::blob
