// same_model: whether two plans' keys are of one model: the same graph, or the same but for the lengths that its
// dimensions were given. It is for people who ask why a plan was not found; no key depends on it. Pure function.
//
//   if (is_same_model(wanted, stored)) show(differing_parts(wanted, stored));
#pragma once
#include "kernels_cache/action_key.h"

namespace hearth::cache {

// True for keys that are not of plans. Graphs with other lengths count as the same when their nodes are alike but for
// lengths and constants, or when they have the same inputs, outputs and parameters (of which there is one at least).
bool is_same_model(const KeyMaterial& a, const KeyMaterial& b);

}  // namespace hearth::cache
