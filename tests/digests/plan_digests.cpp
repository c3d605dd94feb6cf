// plan_digests: compares what the compiler makes of hundreds of graphs, for three fixed targets, with tests/digests/
// list.txt, or writes that list. For changes of the compiler that should change no result; takes minutes.
//
//   tests/bench/nets/make_nets.py /tmp/nets
//   build/release/bin/plan_digests --nets /tmp/nets            # what differs from the list; exit code 1 if anything
//   does build/release/bin/plan_digests --nets /tmp/nets --update   # the differences are meant
#include <cstdio>
#include <iostream>

#include "CLI/CLI.hpp"
#include "tests/digests/digest_cases.h"
#include "tests/digests/digest_list.h"
#include "tests/digests/digests.h"

namespace {

using namespace hearth;

// ONNX's cases that need what is fed at run time, or are not supported, have no plan.
bool may_fail(const std::string& name) { return name.starts_with("onnx/"); }

int fail(const absl::Status& status) {
  std::cerr << "plan_digests: " << status << "\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compares digests of plans and code with tests/digests/list.txt");
  std::string source_dir = ".", nets_dir, only;
  bool update = false;
  std::size_t show = SIZE_MAX;
  app.add_option("--source", source_dir, "The source folder")->check(CLI::ExistingDirectory);
  app.add_option("--nets", nets_dir, "Nets made by tests/bench/nets/make_nets.py")->check(CLI::ExistingDirectory);
  app.add_option("--only", only, "Only cases whose names begin so");
  app.add_flag("--update", update, "Write the list; cases that were not looked at stay");
  app.add_option("--show", show, "Print every pass of the kernels for this target, numbered from 0, instead");
  CLI11_PARSE(app, argc, argv);
  const std::string path = source_dir + "/tests/digests/list.txt";
  const std::vector<v1::Target> targets = digests::fixed_targets();
  auto list = digests::read_digest_list(path);
  if (!list.ok() && !update) return fail(list.status());
  if (!list.ok()) list = digests::DigestList();
  digests::DigestList made{digests::llvm_version(), list->digests};
  std::size_t looked_at = 0, different = 0, without_plan = 0;
  for (const digests::DigestCase& c : digests::digest_cases(source_dir, nets_dir)) {
    if (!c.name.starts_with(only)) continue;
    const auto graph = c.graph();
    if (show < targets.size() && graph.ok()) {
      const auto texts = digests::texts_of(*graph, targets[show]);
      std::cout << c.name << "\n" << (texts.ok() ? *texts : texts.status().ToString()) << "\n";
      continue;
    }
    const auto now = graph.ok() ? digests::digests_of(*graph, targets) : graph.status();
    if (!now.ok()) {
      if (!may_fail(c.name)) return fail(absl::Status(now.status().code(), c.name + ": " + now.status().ToString()));
      ++without_plan;
      if (list->digests.contains(c.name)) ++different, std::printf("%s: no plan any more\n", c.name.c_str());
      made.digests.erase(c.name);
      continue;
    }
    ++looked_at;
    made.digests[c.name] = *now;
    const std::string what = digests::difference(*list, c.name, *now);
    if (what.empty()) continue;
    ++different;
    std::printf("%s: %s\n", c.name.c_str(), what.c_str());
    std::fflush(stdout);
  }
  std::printf("%zu cases, %zu of them different; %zu without a plan\n", looked_at, different, without_plan);
  if (!update) return different > 0 ? 1 : 0;
  const absl::Status written = digests::write_digest_list(path, made);
  return written.ok() ? 0 : fail(written);
}
