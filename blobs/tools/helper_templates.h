// HelperTemplates: the function templates of a dispatcher that need not be instantiated for every type.
//
// CK's backward and split dispatchers call blobs through one template with a type for each blob, thousands of times:
// fmha_bwd_<dot_do_o_trait_, dq_dk_dv_trait_, convert_dq_trait_>(s, a). Where its body uses those types for nothing but
// to name blobs' functions, all of which have one signature, one instance does for all: the rewriter gives it the blobs
// at run time. Such a helper is "shared". Anything that could tell types apart (another use of a parameter, signatures
// or exports that differ, a lambda that captures by name) leaves a helper as it is. Pure; thread-safe. Example:
//   for (const SharedHelper& helper : shared_helpers(tokens, outline(tokens), index, sites)) …
#pragma once
#include <map>
#include <string>
#include <vector>

#include "blobs/tools/blob_index.h"
#include "blobs/tools/cpp_outline.h"
#include "blobs/tools/dispatcher_sites.h"

namespace hearth::blobs {

struct SharedHelper {
  const CppDefinition* definition = nullptr;
  // Parameter of the template -> which row of the group of sites; in the order of the parameters.
  std::map<std::string, int, std::less<>> rows;
  std::vector<const LeafCall*> leaf_calls;      // in its body, by a parameter
  std::vector<const HelperCall*> helper_calls;  // of it
};

std::vector<SharedHelper> shared_helpers(const CppTokens& tokens, const std::vector<CppDefinition>& definitions,
                                         const BlobIndex& index, const DispatcherSites& sites);

}  // namespace hearth::blobs
