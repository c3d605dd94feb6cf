// A stand-in for libhearth_blob_client.so: answers TEST_CLIENT_REPLY ("null" for none) and writes each request as one
// line into TEST_CLIENT_LOG.
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int hearth_blob_acquire(const char* request, char** reply) {
  if (const char* log = std::getenv("TEST_CLIENT_LOG")) {
    if (std::FILE* file = std::fopen(log, "a")) {
      std::fprintf(file, "%s\n", request);
      std::fclose(file);
    }
  }
  const char* answer = std::getenv("TEST_CLIENT_REPLY");
  if (answer == nullptr || std::strcmp(answer, "null") == 0) return 1;
  *reply = strdup(answer);
  return 0;
}
extern "C" void hearth_blob_free(char* reply) { std::free(reply); }
