// hearth-vulkan-trial: compiles kernels with a Vulkan driver, so that a driver that crashes takes nobody with it. For
// the runtime (pipeline_trials.h), not for people.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "runtime/hal/vulkan/pipeline_trials.h"

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "--help") == 0) {
    std::fprintf(argc == 2 ? stdout : stderr,
                 "hearth-vulkan-trial UUID: compiles the SPIR-V modules of standard input for a device, on behalf of "
                 "programs that load plans; nobody calls it by hand.\n");
    return argc == 2 ? 0 : 2;
  }
  return hearth::runtime::run_trial(argv[1]);
}
