// CompilerFlavour: what the compiler of this node is, down to its libraries: SHA-256 over the worker program and, of each
// library that it maps, the identity that its linker gave it (base/elf_build_id.h), or its content where it has none. The
// build's id says which sources the worker is of, and not with which compiler, libc and LLVM it was built, whose results
// may differ in the last bit. Libraries are not read, 200 MB or so: a node that has just started could ask for nothing
// meanwhile. Found once a worker has started; where one that starts later maps other files, since they were replaced on
// disk, there is none until the daemon starts again. Thread-safe.
//
//   CompilerFlavour flavour(config.worker, [&](auto task) { executor.post(std::move(task)); });
//   command.on_mapped_files = [&](auto files) { flavour.mapped(std::move(files)); };
//   flavour.when_known([](const std::optional<Digest>& flavour) { … });
#pragma once
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_stamp.h"
#include "base/sha256.h"

namespace hearth::daemon {

class CompilerFlavour {
 public:
  // `worker`: its program's path. `post` runs a task elsewhere: a file is read, 10 MB or more.
  CompilerFlavour(std::string worker, std::function<void(std::function<void()>)> post)
      : worker_(std::move(worker)), post_(std::move(post)) {}

  // What a worker maps, absolute paths.
  void mapped(const std::vector<std::string>& files);
  // `then` is called once the flavour is known, which may be now, or nothing where there is none. Never before a worker
  // has started.
  using Then = std::function<void(const std::optional<Digest>&)>;
  void when_known(Then then);

  // By identities of files, whatever they are called.
  static Digest of(std::vector<std::string> identities);

 private:
  using Stamped = std::vector<std::pair<std::string, std::optional<files::FileStamp>>>;

  void read(const Stamped& files);
  // There is none: those that wait are told.
  void give_up();

  const std::string worker_;
  const std::function<void(std::function<void()>)> post_;
  std::mutex mutex_;
  std::optional<Stamped> files_;
  std::optional<Digest> flavour_;
  bool is_none_ = false;
  std::vector<Then> waiting_;
};

}  // namespace hearth::daemon
