// BlobPlace: a Place with an installation of small C++ blobs and a compiler that misbehaves on request.
//
// Blob NAME is src/NAME.cpp and exports `template <> int blob<int>(int)`. The compiler is a script in front of c++: it
// does what the stem begins with: hang, crash, eater (takes all memory), else compiles. Example:
//   BlobPlace place;
//   place.add("a", 3);   // returns its argument + 3
//   place.write_manifest();
#pragma once
#include <set>

#include "tests/integration/place.h"

namespace hearth::integration {

class BlobPlace : public Place {
 public:
  BlobPlace();

  // `header` is included when not empty, and what it defines as VALUE is added, too.
  void add(const std::string& stem, int value, const std::string& header = "");
  // Lines after the function of the blob.
  void add_text(const std::string& stem, const std::string& text);
  void write_header(const std::string& name, int value);
  // Of every blob that was added: ROOT/ck_jit_manifest.json.
  std::string write_manifest();

  std::string root() const { return root_; }
  // Moves the installation.
  void move_root(const std::string& name);
  std::vector<std::string> stems() const { return {stems_.begin(), stems_.end()}; }

  // Its process calls the blobs; see blob_caller.cpp.
  Process call(const std::vector<std::string>& stems, int seed = 0);
  Process prewarm(std::vector<std::string> words);
  // Compilers and what they started that run for this place now.
  int compilers() const;

 private:
  std::string root_;
  std::set<std::string> stems_;
};

}  // namespace hearth::integration
