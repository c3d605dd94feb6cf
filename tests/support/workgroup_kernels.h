// Linear kernels of workgroups, written by hand (compiler/passes/lowered/linearize.h).
//
//   const auto kernel = parsed(tree_sum(/*width=*/64));   // kernel->body
#pragma once
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/text.h"

namespace hearth::test {

inline constexpr std::int64_t kGroups = 3;

// Lines of a body, numbered as they are added.
class LinearText {
 public:
  template <typename... Parts>
  std::string add(const Parts&... parts) {
    const std::string name = absl::StrCat("%", count_++);
    absl::StrAppend(&text_, name, " = ", parts..., "\n");
    return name;
  }
  std::string at(const std::string& memory, const std::string& position, const std::string& gate = "true:bool") {
    return add("index void ", memory, " ", position, " ", gate);
  }
  std::string barrier() { return add("barrier void [id=", barriers_++, "]"); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int count_ = 0, barriers_ = 0;
};

// Sums of `width` elements, a workgroup each, by a tree; every invocation stores what it sees of it. `rounds` of them
// one after the other in the same shared memory.
inline std::string tree_sum(std::int64_t width, std::int64_t rounds = 1) {
  LinearText b;
  const std::string out = b.add("param f32 [slot=0]"), in = b.add("param f32 [slot=1]");
  const std::string group = b.add("range i64 ", kGroups, ":i64 [axis=0 grid]");
  const std::string me = b.add("range i64 ", width, ":i64 [axis=1 invocation]");
  const std::string shared = b.add("allocate f32 ", group, " [id=0 elements=", width, "]");
  const std::string loop = b.add("range i64 ", rounds, ":i64 [axis=2 loop]");
  const std::string first = b.add("mul i64 ", group, " ", rounds, ":i64"), row = b.add("add i64 ", first, " ", loop);
  const std::string begin = b.add("mul i64 ", row, " ", width, ":i64"), position = b.add("add i64 ", begin, " ", me);
  const std::string value = b.add("load f32 ", b.at(in, position));
  b.add("store void ", b.at(shared, me), " ", value);
  b.barrier();
  for (std::int64_t half = width / 2; half > 0; half /= 2) {
    const std::string takes_part = b.add("lt bool ", me, " ", half, ":i64");
    const std::string other = b.add("add i64 ", me, " ", half, ":i64");
    const std::string theirs = b.add("load f32 ", b.at(shared, other, takes_part));
    const std::string mine = b.at(shared, me, takes_part);
    const std::string sum = b.add("add f32 ", b.add("load f32 ", mine), " ", theirs);
    b.add("store void ", mine, " ", sum);
    b.barrier();
  }
  const std::string whole = b.add("load f32 ", b.at(shared, "0:i64"));
  b.add("store void ", b.at(out, position), " ", whole);
  if (rounds > 1) b.barrier();  // the next round writes what this one reads
  b.add("end void ", loop);
  b.add("end void ", group);
  return b.text();
}

// Its body, constants first.
struct Parsed {
  ir::Graph graph;
  std::vector<ir::UOpRef> body;
};

inline std::unique_ptr<Parsed> parsed(const std::string& text) {
  auto made = std::make_unique<Parsed>();
  const absl::StatusOr<std::vector<ir::UOpRef>> lines = ir::parse_list(made->graph, text);
  INFO(text << lines.status().ToString());
  REQUIRE(lines.ok());
  for (ir::UOpRef node : ir::toposort(*lines)) {
    if (node->is_const()) made->body.push_back(node);
  }
  made->body.insert(made->body.end(), lines->begin(), lines->end());
  return made;
}

}  // namespace hearth::test
