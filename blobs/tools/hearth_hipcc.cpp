// hearth-hipcc: a drop-in hipcc. See interceptor.h.
#include "blobs/tools/interceptor.h"

int main(int argc, char** argv) { return hearth::blobs::intercept(argc, argv); }
