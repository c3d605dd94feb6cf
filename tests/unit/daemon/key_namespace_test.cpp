#include "daemon/store/key_namespace.h"

#include <catch2/catch.hpp>

namespace hearth::daemon {
namespace {

constexpr uid_t kUser = 61001;

bool is_own(v1::DType dtype, std::size_t bytes, bool in_loop = false) {
  v1::Graph graph;
  v1::Node& node = *(in_loop ? graph.add_loops()->mutable_body()->add_nodes() : graph.add_nodes());
  node.set_op(v1::CONSTANT);
  node.set_dtype(dtype);
  node.set_data(std::string(bytes, 'x'));
  return KeyNamespace(Sharing::kNode).is_own_plan(graph, kUser);
}

TEST_CASE("a plan is shared between users with constants of one number, and with no more of any type") {
  struct Case {
    v1::DType dtype;
    std::size_t bytes;
  };
  for (const Case& c : {Case{v1::BOOL, 1},
                        {v1::I8, 1},
                        {v1::U8, 1},
                        {v1::F8E4M3, 1},
                        {v1::F8E5M2, 1},
                        {v1::I16, 2},
                        {v1::U16, 2},
                        {v1::F16, 2},
                        {v1::BF16, 2},
                        {v1::I32, 4},
                        {v1::U32, 4},
                        {v1::F32, 4},
                        {v1::I64, 8},
                        {v1::U64, 8},
                        {v1::F64, 8}}) {
    INFO(v1::DType_Name(c.dtype));
    CHECK_FALSE(is_own(c.dtype, c.bytes));
    CHECK(is_own(c.dtype, 2 * c.bytes));
    CHECK(is_own(c.dtype, 2 * c.bytes, /*in_loop=*/true));
  }
  CHECK(is_own(static_cast<v1::DType>(99), 2));
}

TEST_CASE("what has constant data or a user's part is private to the node") {
  v1::Graph plain, data;
  v1::Node& node = *data.add_nodes();
  node.set_op(v1::CONSTANT);
  node.set_dtype(v1::F32);
  node.set_data(std::string(8, 'x'));
  const uid_t own = ::geteuid();
  CHECK(KeyNamespace::has_data(data));
  CHECK_FALSE(KeyNamespace::has_data(plain));
  for (const Sharing sharing : {Sharing::kOwner, Sharing::kNode, Sharing::kUser}) {
    const KeyNamespace keys(sharing);
    // Where one user has the daemon alone, his graphs with data have ordinary keys, and are private all the same.
    CHECK_FALSE(keys.is_own_plan(data, own));
    CHECK_FALSE(keys.is_private(own));
    CHECK(keys.is_private(kUser) == (sharing == Sharing::kUser));
    CHECK_FALSE(keys.is_private(0));
  }
}

}  // namespace
}  // namespace hearth::daemon
