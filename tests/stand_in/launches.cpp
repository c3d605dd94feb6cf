// The stand-in's modules, launches and graphs.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

#include "tests/stand_in/control.h"
#include "tests/stand_in/faults.h"
#include "tests/stand_in/objects.h"
#include "tests/stand_in/workgroup.h"

namespace hearth::stand_in {
namespace {

// Invocations of a launch that are called: a kernel's take their units in turns, so that any number is right.
constexpr std::int64_t kMaxInvocations = 251;  // a prime: of no grid a divisor
constexpr std::int64_t kMaxWorkgroups = 7;     // likewise

std::mt19937_64& random() {
  static std::mt19937_64& engine = *new std::mt19937_64(1);
  return engine;
}

void check(const Dimensions& dimensions) {
  const std::uint64_t invocations =
      std::uint64_t{dimensions.invocations[0]} * dimensions.invocations[1] * dimensions.invocations[2];
  if (invocations < 1 || invocations > 1024) broken("a launch", "no device has workgroups of that size");
  if (dimensions.groups[0] < 1 || dimensions.groups[0] > 0x7fffffffU || dimensions.groups[1] != 1 ||
      dimensions.groups[2] != 1)
    broken("a launch", "no device has that many workgroups");
}

const std::uint64_t* row_of(void* const* parameters) {
  if (parameters == nullptr || parameters[0] == nullptr) broken("a launch", "it has no argument");
  return *static_cast<const std::uint64_t* const*>(parameters[0]);
}

// Places of `nodes` in an order that their edges allow.
std::vector<std::size_t> order_of(const std::vector<Node>& nodes) {
  std::vector<std::size_t> left(nodes.size()), ready, order;
  for (std::size_t i = 0; i < nodes.size(); ++i) left[i] = nodes[i].after.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (left[i] == 0) ready.push_back(i);
  }
  const std::uint64_t kind = random()() % 3;
  std::vector<std::vector<std::size_t>> users(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::size_t before : nodes[i].after) users[before].push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t at = kind == 0 ? 0 : kind == 1 ? ready.size() - 1 : random()() % ready.size();
    const std::size_t node = ready[at];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
    order.push_back(node);
    for (const std::size_t user : users[node]) {
      if (--left[user] == 0) ready.push_back(user);
    }
  }
  return order;
}

}  // namespace

Module::~Module() {
  for (void* const function : functions) remove(function);
  if (library != nullptr) dlclose(library);
  if (file >= 0) close(file);
}

int run_launch(const Function& function, const Dimensions& dimensions, const std::uint64_t* row) {
  if (const int error = fault_of("kernel")) return error;
  check_range("a launch that runs, its row", row, sizeof *row);
  const std::int64_t all = static_cast<std::int64_t>(dimensions.groups[0]) * dimensions.invocations[0],
                     count = std::min(all, kMaxInvocations);
  if (function.shared_bytes != nullptr) {
    const std::int64_t groups = std::min<std::int64_t>(dimensions.groups[0], kMaxWorkgroups);
    std::vector<std::int64_t> order(static_cast<std::size_t>(groups));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random());
    for (const std::int64_t group : order)
      run_workgroup({function.code, row, group, groups, dimensions.invocations[0], *function.shared_bytes}, random());
    return kSuccess;
  }
  const auto run = [&](std::int64_t i) { function.code(row, i, count, nullptr); };
  switch (random()() % 3) {
    case 0:
      for (std::int64_t i = 0; i < count; ++i) run(i);
      break;
    case 1:
      for (std::int64_t i = count; i-- > 0;) run(i);
      break;
    default:
      for (const std::int64_t first : {1, 0}) {
        for (std::int64_t i = first; i < count; i += 2) run(i);
      }
  }
  return kSuccess;
}

int module_load(void** module, const void* image) {
  if (std::memcmp(image, "\177ELF", 4) != 0) return kInvalidImage;
  std::uint64_t sections = 0;
  std::uint16_t size = 0, count = 0, machine = 0;
  const char* const bytes = static_cast<const char*>(image);
  std::memcpy(&machine, bytes + 18, 2);
  std::memcpy(&sections, bytes + 40, 8);
  std::memcpy(&size, bytes + 58, 2);
  std::memcpy(&count, bytes + 60, 2);
  constexpr std::uint16_t kAmdGpu = 224, kCuda = 190;
  if (machine == kAmdGpu || machine == kCuda) return kInvalidImage;
  // Its length is not given: the table of sections is last.
  const std::size_t length = sections + std::size_t{size} * count;
  const int file = memfd_create("stand-in", MFD_CLOEXEC);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  void* library = nullptr;
  if (file >= 0 && write(file, image, length) == static_cast<ssize_t>(length))
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::fprintf(stderr, "the stand-in of the driver: %s\n", dlerror());
  if (library == nullptr) {
    if (file >= 0) close(file);
    return kInvalidImage;
  }
  const auto locked = lock();
  auto made = std::make_unique<Module>();
  made->library = library;
  made->file = file;  // open as long as it is loaded: dlopen knows libraries by their paths
  *module = add(std::move(made));
  return kSuccess;
}

int module_function(void** function, void* module, const char* name) {
  const auto locked = lock();
  Module& from = of<Module>("a module's function", module);
  auto made = std::make_unique<Function>();
  made->code = reinterpret_cast<hearth_simt_fn>(dlsym(from.library, name));
  if (made->code == nullptr) return kNotFound;
  const std::string shared = std::string(name) + HEARTH_SIMT_SHARED_BYTES;
  made->shared_bytes = static_cast<const std::int64_t*>(dlsym(from.library, shared.c_str()));
  *function = add(std::move(made));
  from.functions.push_back(*function);
  return kSuccess;
}

int module_unload(void* module) {
  const auto locked = lock();
  of<Module>("unloading a module", module);  // what is queued of it ends the process when it runs
  remove(module);
  return kSuccess;
}

int launch(void* function, const Dimensions& dimensions, void* const* parameters, void* stream) {
  const auto locked = lock();
  check(dimensions);
  of<Function>("a launch", function);
  const std::uint64_t* const row = row_of(parameters);
  stream_of("a launch", stream).queue.push_back({[=] {
    return run_launch(of<Function>("a launch that runs", function), dimensions, row);
  }});
  return kSuccess;
}

int graph_create(void** graph) {
  const auto locked = lock();
  *graph = add(std::make_unique<Graph>());
  return kSuccess;
}

int graph_add(void** node, void* graph, void* const* after, std::size_t num_after, void* function,
              const Dimensions& dimensions, void* const* parameters) {
  const auto locked = lock();
  Graph& to = of<Graph>("adding to a graph", graph);
  auto made = std::make_unique<Node>();
  made->graph = &to;
  made->place = to.nodes.size();
  for (std::size_t i = 0; i < num_after; ++i) {
    const Node& before = of<Node>("an edge of a graph", after[i]);
    if (before.graph != &to) broken("an edge of a graph", "it comes from another graph");
    if (std::ranges::find(made->after, before.place) != made->after.end()) broken("an edge of a graph", "it is there");
    made->after.push_back(before.place);
  }
  if (function != nullptr) {
    check(dimensions);
    of<Function>("adding to a graph", function);
    made->function = function;
    made->dimensions = dimensions;
    made->row = row_of(parameters);
  }
  *node = add(std::move(made));
  to.nodes.push_back(*node);
  return kSuccess;
}

int graph_instantiate(void** executable, void* graph) {
  const auto locked = lock();
  auto made = std::make_unique<Executable>();
  for (void* const node : of<Graph>("instantiating a graph", graph).nodes)
    made->nodes.push_back(of<Node>("a graph", node));
  *executable = add(std::move(made));
  return kSuccess;
}

int graph_destroy(void* graph) {
  const auto locked = lock();
  for (void* const node : of<Graph>("destroying a graph", graph).nodes) remove(node);
  remove(graph);
  return kSuccess;
}

int graph_launch(void* executable, void* stream) {
  const auto locked = lock();
  of<Executable>("launching a graph", executable);
  stream_of("launching a graph", stream).queue.push_back({[executable] {
    const Executable& graph = of<Executable>("a graph that runs", executable);
    for (const std::size_t place : order_of(graph.nodes)) {
      const Node& node = graph.nodes[place];
      if (node.function == nullptr) continue;
      const Function& function = of<Function>("a graph that runs", node.function);
      if (const int error = run_launch(function, node.dimensions, node.row)) return error;
    }
    return kSuccess;
  }});
  return kSuccess;
}

int graph_executable_destroy(void* executable) {
  const auto locked = lock();
  of<Executable>("destroying a graph's executable", executable);
  for (Stream* const stream : all_streams()) run_all(*stream);
  remove(executable);
  return kSuccess;
}

}  // namespace hearth::stand_in

extern "C" __attribute__((visibility("default"))) void hearth_stand_in_seed(std::uint64_t seed) {
  const auto locked = hearth::stand_in::lock();
  hearth::stand_in::random().seed(seed);
}
