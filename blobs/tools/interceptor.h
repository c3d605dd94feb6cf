// The interceptor: stands in for hipcc while a library is built, so that its blobs are recorded instead of compiled.
//
// decide() says what becomes of one call: a probe or another source goes to the real compiler, in this very process;
// a blob (a source below a folder blob/ or blobs/ whose name begins as CK's fused attention does) or a dispatcher
// (fmha_*_api.cpp) is recorded, an empty object and if wanted a depfile written; the link of libmha_*.so runs the
// post-build. Errors: the call fails with one line on stderr, exit code 1; a real compiler's result is passed through.
//   int main(int argc, char** argv) { return hearth::blobs::intercept(argc, argv); }
#pragma once
#include <string>
#include <string_view>

#include "blobs/tools/command_line.h"

namespace hearth::blobs {

enum class Decision { kPass, kBlob, kDispatcher, kLink, kMixed };

// kMixed: blobs among other sources in one call, or compiled and linked in one; there is no object to stand in for.
Decision decide(const CommandLine& line, const std::string& cwd);

bool is_blob(std::string_view absolute_source);
bool is_dispatcher(std::string_view source);

// Does not return when the call is the real compiler's.
int intercept(int argc, char** argv);

}  // namespace hearth::blobs
