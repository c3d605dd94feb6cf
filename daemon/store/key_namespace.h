// KeyNamespace: which users have one key for the same request, and so one compile and one entry of the cache.
//
// A key that is a user's own has a part that says whose: for another user it is a key like any that nobody has asked
// for, in what is answered and in how long it takes. With kNode that is so for plans whose graph holds constants of
// more than one number (the client's data; parameters are never in a key), while kernels, which hold none, are
// everybody's; with kUser for all. What root and the daemon's own user have built is everybody's: a plan of theirs is
// found by who sends the very same graph, constants included. Immutable; thread-safe. Example:
//   cache::KeyMaterial material = cache::plan_key_material(graph, target, options, build_id);
//   if (namespace_.is_own_plan(graph, client.uid)) KeyNamespace::add(material, client.uid);
#pragma once
#include <absl/strings/str_cat.h>
#include <sys/types.h>

#include <algorithm>

#include "daemon/operator.h"
#include "hearth/v1/graph.pb.h"
#include "kernels_cache/action_key.h"

namespace hearth::daemon {

enum class Sharing {
  kOwner,  // one user, whose all keys are
  kNode,
  kUser,
};

class KeyNamespace {
 public:
  static constexpr char kPart[] = "user";

  KeyNamespace() = default;
  explicit KeyNamespace(Sharing sharing) : sharing_(sharing) {}

  Sharing sharing() const { return sharing_; }
  bool is_own_plan(const v1::Graph& graph, uid_t user) const {
    if (is_operator(user)) return false;
    return sharing_ == Sharing::kUser || (sharing_ == Sharing::kNode && has_data(graph));
  }
  // What must not leave the node, not even as a look-up in a cache of several nodes: whatever has a user's part, and
  // plans with the client's data, of which `is_own_plan` does not tell where all users are one.
  bool is_private(uid_t user) const { return sharing_ == Sharing::kUser && !is_operator(user); }
  // A constant of one number, as most graphs have, says no more than the kernels that it becomes part of.
  static bool has_data(const v1::Graph& graph) {
    const auto holds_data = [](const v1::Node& node) {
      return node.op() == v1::CONSTANT && node.data().size() > number_bytes(node.dtype());
    };
    const auto any = [&](const auto& nodes) { return std::any_of(nodes.begin(), nodes.end(), holds_data); };
    return any(graph.nodes()) || std::any_of(graph.loops().begin(), graph.loops().end(),
                                             [&](const v1::Loop& loop) { return any(loop.body().nodes()); });
  }
  void add_to_kernel(cache::KeyMaterial& material, uid_t user) const {
    if (is_private(user)) add(material, user);
  }
  static void add(cache::KeyMaterial& material, uid_t user) {
    material.add(kPart, absl::StrCat(user), absl::StrCat(user));
  }

 private:
  static std::size_t number_bytes(v1::DType dtype) {
    switch (dtype) {
      case v1::I64:
      case v1::U64:
      case v1::F64:
        return 8;
      case v1::I32:
      case v1::U32:
      case v1::F32:
        return 4;
      case v1::I16:
      case v1::U16:
      case v1::F16:
      case v1::BF16:
        return 2;
      default:
        return 1;
    }
  }

  Sharing sharing_ = Sharing::kOwner;
};

}  // namespace hearth::daemon
