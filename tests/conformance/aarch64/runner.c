/* hearth-aarch64-runner: runs kernels of AArch64 that RunnerProcess sends on standard input, one message at a time, and
   answers on standard output, until that is closed. Built by a cross compiler; QEMU runs it on other processors. A kernel
   that reads or writes beyond the end of a block ends it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/kernel_abi.h"

enum { kFront = 0xCD };

static void transfer(int fd, void* data, size_t size, int writes) {
  for (size_t done = 0; done < size;) {
    char* at = (char*)data + done;
    const ssize_t now = writes ? write(fd, at, size - done) : read(fd, at, size - done);
    if (now <= 0) exit(now < 0 ? 1 : 0);
    done += (size_t)now;
  }
}

static const char* message;

static uint64_t number(void) {
  uint64_t value;
  memcpy(&value, message, sizeof(value));
  message += sizeof(value);
  return value;
}

static const char* text(uint64_t* size) {
  *size = number();
  const char* at = message;
  message += *size;
  return at;
}

static void put_number(uint64_t value) { transfer(1, &value, sizeof(value), 1); }

static void put_text(const void* bytes, uint64_t size) {
  put_number(size);
  transfer(1, (void*)bytes, size, 1);
}

static int refuse(const char* what) {
  put_number(16 + strlen(what));
  put_number(0);
  put_text(what, strlen(what));
  return 0;
}

typedef struct {
  uint8_t *mapping, *data;
  uint64_t mapped, size;
} block;

/* The block ends where a page begins that nobody may touch; the bytes in front of it are known. */
static int make_block(block* made) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), alignment = number();
  const char* bytes = text(&made->size);
  const uint64_t used = (made->size + alignment - 1) / alignment * alignment, usable = (used / page + 1) * page;
  made->mapped = usable + page;
  made->mapping = mmap(NULL, made->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made->mapping == MAP_FAILED || mprotect(made->mapping + usable, page, PROT_NONE) != 0) return 0;
  memset(made->mapping, kFront, usable);
  made->data = made->mapping + usable - used;
  memcpy(made->data, bytes, made->size);
  return 1;
}

typedef struct {
  int file;
  void* library;
} module;

static int open_module(module* opened) {
  uint64_t size;
  const char* bytes = text(&size);
  char path[64];
  opened->file = memfd_create("kernel", 0);
  if (opened->file < 0) return 0;
  transfer(opened->file, (void*)bytes, size, 1);
  snprintf(path, sizeof(path), "/proc/self/fd/%d", opened->file);
  opened->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return opened->library != NULL;
}

static int run(void) {
  const uint64_t num_blocks = number();
  block* blocks = calloc(num_blocks + 1, sizeof(block));
  for (uint64_t i = 0; i < num_blocks; ++i)
    if (!make_block(&blocks[i])) return refuse("there is no memory");
  const uint64_t num_modules = number();
  module* modules = calloc(num_modules + 1, sizeof(module));
  for (uint64_t i = 0; i < num_modules; ++i)
    if (!open_module(&modules[i])) return refuse(dlerror());
  const uint64_t num_launches = number();
  for (uint64_t i = 0; i < num_launches; ++i) {
    const module* from = &modules[number()];
    uint64_t length;
    const char* name = text(&length);
    char symbol[256] = {0};
    memcpy(symbol, name, length < sizeof(symbol) ? length : sizeof(symbol) - 1);
    const int64_t begin = (int64_t)number(), end = (int64_t)number();
    number(); /* a processor's kernel has no workgroup */
    const uint64_t num_buffers = number();
    void** buffers = calloc(num_buffers + 1, sizeof(void*));
    for (uint64_t b = 0; b < num_buffers; ++b) {
      uint8_t* const data = blocks[number()].data;
      buffers[b] = data + number();
    }
    const uint64_t num_vars = number();
    int64_t* vars = calloc(num_vars + 1, sizeof(int64_t));
    for (uint64_t v = 0; v < num_vars; ++v) vars[v] = (int64_t)number();
    int runs = 1;
    for (uint64_t c = number(); c > 0; --c) {
      const uint8_t* const data = blocks[number()].data;
      const int is_true = data[number()] != 0;
      if (is_true != (int)number()) runs = 0;
    }
    hearth_kernel_fn kernel;
    *(void**)&kernel = dlsym(from->library, symbol);
    if (kernel == NULL) return refuse(dlerror());
    if (runs) kernel(buffers, vars, begin, end);
    free(buffers);
    free(vars);
  }
  uint64_t size = 8;
  for (uint64_t i = 0; i < num_blocks; ++i) {
    for (const uint8_t* at = blocks[i].mapping; at < blocks[i].data; ++at)
      if (*at != kFront) return refuse("a kernel wrote in front of a block");
    size += 8 + blocks[i].size;
  }
  put_number(size);
  put_number(1);
  for (uint64_t i = 0; i < num_blocks; ++i) {
    put_text(blocks[i].data, blocks[i].size);
    munmap(blocks[i].mapping, blocks[i].mapped);
  }
  for (uint64_t i = 0; i < num_modules; ++i) {
    dlclose(modules[i].library);
    close(modules[i].file);
  }
  free(blocks);
  free(modules);
  return 0;
}

int main(void) {
  put_number(8); /* a greeting: this program runs */
  put_number(1);
  for (;;) {
    uint64_t size;
    transfer(0, &size, sizeof(size), 0);
    char* bytes = malloc(size + 1);
    if (bytes == NULL) return 1;
    transfer(0, bytes, size, 0);
    message = bytes;
    run();
    free(bytes);
  }
}
