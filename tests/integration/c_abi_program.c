/* Every function of the C ABI, as a C program calls it, and with what it must not be given.
 *   c_abi_program MODEL SYMBOLIC SOCKET FOLDER
 * MODEL: examples/digits. SYMBOLIC: x [n, 3] f32 -> y [n, 3]. Needs a daemon on SOCKET. Prints "ok" at the end. */
#include <hearth/hearth.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dlpack.h's structs, as any producer has them. */
typedef struct {
  int device_type;
  int32_t device_id;
} Device;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} Type;
typedef struct {
  void* data;
  Device device;
  int32_t ndim;
  Type dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} Array;
struct DLManagedTensor {
  Array array;
  void* context;
  void (*deleter)(struct DLManagedTensor*);
};

struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  Array array;
};

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, message); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

static char message[4096];

/* The call's code, which must be `wanted`; an error's text is kept in `message`. */
static void check(int line, hearth_code code, hearth_error* error, hearth_code wanted, const char* text) {
  snprintf(message, sizeof message, "%s", hearth_error_message(error));
  if (code != wanted || hearth_error_code(error) != code || (code == HEARTH_OK) != (error == NULL) ||
      strstr(message, text) == NULL) {
    fprintf(stderr, "line %d: %s: %s; wanted %s, '%s'\n", line, hearth_code_name(code), message,
            hearth_code_name(wanted), text);
    exit(1);
  }
  hearth_error_free(error);
}
#define OK(call)                                        \
  do {                                                  \
    hearth_error* error = (hearth_error*)message;       \
    const hearth_code code = call;                      \
    check(__LINE__, code, error, HEARTH_OK, "");        \
  } while (0)
#define FAILS(call, wanted, text)                \
  do {                                           \
    hearth_error* error = NULL;                  \
    const hearth_code code = call;               \
    check(__LINE__, code, error, wanted, text);  \
  } while (0)

static int calls = 0;
static uint32_t last_done = 0;
static void progress(void* context, hearth_prepare_state state, uint32_t done, uint32_t total) {
  CHECK(context == &calls && state <= HEARTH_PREPARE_PACKING && done <= total + (total == 0));
  ++calls;
  last_done = done;
}

static int deleted = 0;
static void delete_tensor(struct DLManagedTensor* tensor) {
  ++deleted;
  free(tensor);
}
static Array tensor_array(float* data, int64_t* shape, int rank) {
  Array array = {data, {1, 0}, rank, {2, 32, 1}, NULL, NULL, 0};
  array.shape = shape;
  return array;
}
static struct DLManagedTensor* tensor_of(float* data, int64_t* shape, int rank) {
  struct DLManagedTensor* tensor = calloc(1, sizeof *tensor);
  tensor->array = tensor_array(data, shape, rank);
  tensor->deleter = delete_tensor;
  return tensor;
}

static void delete_versioned(struct DLManagedTensorVersioned* tensor) {
  ++deleted;
  free(tensor);
}

static int released = 0;
static void release(void* context) {
  CHECK(context == &released);
  ++released;
}

static void check_names(void) {
  CHECK(hearth_abi_version() == HEARTH_ABI_VERSION);
  CHECK(strlen(hearth_version()) >= 5);
  CHECK(strcmp(hearth_code_name(HEARTH_DATA_LOSS), "DATA_LOSS") == 0);
  CHECK(strcmp(hearth_code_name((hearth_code)99), "UNKNOWN") == 0);
  CHECK(hearth_dtype_bytes(HEARTH_BF16) == 2 && hearth_dtype_bytes((hearth_dtype)0) == 0);
  CHECK(strcmp(hearth_dtype_name(HEARTH_F8E4M3), "f8e4m3") == 0 && hearth_dtype_name((hearth_dtype)77) == NULL);
  CHECK(hearth_error_code(NULL) == HEARTH_OK && strcmp(hearth_error_message(NULL), "") == 0);
}

static void check_null(void) {
  hearth_error_free(NULL);
  hearth_import_options_free(NULL);
  hearth_graph_free(NULL);
  hearth_prepare_options_free(NULL);
  hearth_plan_free(NULL);
  hearth_instance_free(NULL);
  hearth_profile_free(NULL);
  FAILS(hearth_graph_from_onnx_file(NULL, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "path is NULL");
  FAILS(hearth_graph_from_onnx(NULL, 0, NULL, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "model is NULL");
  FAILS(hearth_import_options_set_dim(NULL, "n", 1, 1, &error), HEARTH_INVALID_ARGUMENT, "options is NULL");
  FAILS(hearth_import_options_set_constant(NULL, "n", HEARTH_F32, NULL, 0, NULL, 0, &error), HEARTH_INVALID_ARGUMENT,
        "options is NULL");
  FAILS(hearth_import_options_set_weights(NULL, HEARTH_F32, &error), HEARTH_INVALID_ARGUMENT, "options is NULL");
  FAILS(hearth_prepare(NULL, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "graph is NULL");
  FAILS(hearth_plan_load(NULL, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "path is NULL");
  FAILS(hearth_plan_export(NULL, "x", 1, &error), HEARTH_INVALID_ARGUMENT, "plan is NULL");
  FAILS(hearth_plan_stats(NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "plan is NULL");
  FAILS(hearth_plan_input(NULL, 0, NULL, &error), HEARTH_INVALID_ARGUMENT, "plan is NULL");
  FAILS(hearth_plan_output(NULL, 0, NULL, &error), HEARTH_INVALID_ARGUMENT, "plan is NULL");
  FAILS(hearth_plan_variable(NULL, 0, NULL, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "plan is NULL");
  FAILS(hearth_plan_carried(NULL, 0, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "plan is NULL");
  FAILS(hearth_plan_instantiate(NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "plan is NULL");
  FAILS(hearth_instance_execute(NULL, &error), HEARTH_INVALID_ARGUMENT, "instance is NULL");
  FAILS(hearth_instance_execute_arrays(NULL, NULL, 0, NULL, 0, &error), HEARTH_INVALID_ARGUMENT, "instance is NULL");
  FAILS(hearth_instance_set_shapes(NULL, NULL, 0, &error), HEARTH_INVALID_ARGUMENT, "instance is NULL");
  FAILS(hearth_instance_output_shape(NULL, 0, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "instance is NULL");
  FAILS(hearth_plan_instantiate_threads(NULL, 1, NULL, &error), HEARTH_INVALID_ARGUMENT, "plan is NULL");
  FAILS(hearth_plan_load_bytes(NULL, 0, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "data is NULL");
  FAILS(hearth_plan_export_bytes(NULL, 1, NULL, &error), HEARTH_INVALID_ARGUMENT, "plan is NULL");
  FAILS(hearth_prepare_options_add_parameter(NULL, "w", NULL, 0, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT,
        "options is NULL");
  FAILS(hearth_graph_input(NULL, 0, NULL, &error), HEARTH_INVALID_ARGUMENT, "graph is NULL");
  FAILS(hearth_graph_result(NULL, 0, NULL, &error), HEARTH_INVALID_ARGUMENT, "graph is NULL");
  FAILS(hearth_graph_weights(NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "graph is NULL");
  hearth_bytes_free(NULL);
  CHECK(hearth_bytes_data(NULL) == NULL && hearth_bytes_size(NULL) == 0);
  CHECK(hearth_graph_opset(NULL) == 0 && hearth_graph_num_inputs(NULL) == 0 && hearth_graph_num_results(NULL) == 0);
  CHECK(hearth_graph_num_warnings(NULL) == 0 && hearth_graph_warning(NULL, 0) == NULL);
  FAILS(hearth_instance_execute_profiled(NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "instance is NULL");
  FAILS(hearth_instance_bind_input(NULL, "x", NULL, 0, &error), HEARTH_INVALID_ARGUMENT, "instance is NULL");
  FAILS(hearth_profile_kernel(NULL, 0, NULL, NULL, NULL, NULL, &error), HEARTH_INVALID_ARGUMENT, "profile is NULL");
  FAILS(hearth_prepare_options_set_device(NULL, "cpu", &error), HEARTH_INVALID_ARGUMENT, "options is NULL");
  CHECK(hearth_plan_num_inputs(NULL) == 0 && hearth_plan_num_outputs(NULL) == 0 && hearth_plan_num_variables(NULL) == 0);
  CHECK(hearth_plan_num_carried(NULL) == 0);
  CHECK(hearth_plan_device(NULL) == NULL && hearth_plan_threads(NULL) == 0);
  CHECK(hearth_profile_num_kernels(NULL) == 0 && hearth_profile_total_ns(NULL) == 0);
  CHECK(hearth_prepare(NULL, NULL, NULL, NULL) == HEARTH_INVALID_ARGUMENT); /* nobody wants to know why */
}

static int cancelled(void* context) { return *(const int*)context; }

static hearth_prepare_options* options_for(const char* socket) {
  hearth_prepare_options* options = hearth_prepare_options_new();
  CHECK(options != NULL);
  OK(hearth_prepare_options_set_socket(options, socket, &error));
  OK(hearth_prepare_options_set_auto_start(options, 0, &error));
  OK(hearth_prepare_options_set_threads(options, 1, &error));
  OK(hearth_prepare_options_set_deadline_ms(options, 60000, &error));
  OK(hearth_prepare_options_set_opt_level(options, 2, &error));
  OK(hearth_prepare_options_set_fast_math(options, 0, &error));
  OK(hearth_prepare_options_set_share_weights(options, 0, &error));
  OK(hearth_prepare_options_set_subnormals(options, "keep", &error));
  FAILS(hearth_prepare_options_set_subnormals(options, "flush", &error), HEARTH_INVALID_ARGUMENT,
        "subnormals is 'flush'; expected keep, results or all");
  FAILS(hearth_prepare_options_set_subnormals(options, NULL, &error), HEARTH_INVALID_ARGUMENT, "subnormals is NULL");
  OK(hearth_prepare_options_set_device(options, "cpu", &error));
  OK(hearth_prepare_options_set_progress(options, progress, &calls, &error));
  FAILS(hearth_prepare_options_set_threads(options, -1, &error), HEARTH_INVALID_ARGUMENT, "threads is -1");
  FAILS(hearth_prepare_options_set_deadline_ms(options, 0, &error), HEARTH_INVALID_ARGUMENT, "deadline_ms is 0");
  FAILS(hearth_prepare_options_set_opt_level(options, 3, &error), HEARTH_INVALID_ARGUMENT, "0, 1 or 2");
  FAILS(hearth_prepare_options_set_device(options, NULL, &error), HEARTH_INVALID_ARGUMENT, "device is NULL");
  return options;
}

static void check_cancelled(const hearth_graph* graph, const char* socket) {
  hearth_prepare_options* options = options_for(socket);
  int is_cancelled = 1;
  hearth_plan* plan = NULL;
  OK(hearth_prepare_options_set_cancelled(options, cancelled, &is_cancelled, &error));
  FAILS(hearth_prepare(graph, options, &plan, &error), HEARTH_CANCELLED, "the call was cancelled");
  CHECK(plan == NULL);
  is_cancelled = 0;
  OK(hearth_prepare(graph, options, &plan, &error));
  hearth_plan_free(plan);
  hearth_prepare_options_free(options);
}

static void check_facts(const hearth_graph* graph) {
  hearth_graph_value value = {sizeof value, NULL, HEARTH_BOOL, 0, NULL, NULL, 0};
  hearth_weights_report report = {sizeof report, 9, 9, 9, NULL, 9, 9};
  CHECK(hearth_graph_opset(graph) >= 7 && hearth_graph_num_inputs(graph) == 1 && hearth_graph_num_results(graph) == 1);
  OK(hearth_graph_input(graph, 0, &value, &error));
  CHECK(strcmp(value.name, "image") == 0 && value.dtype == HEARTH_F32 && value.rank == 4);
  CHECK(strcmp(value.lengths[0], "400") == 0 && value.length_output == NULL);
  OK(hearth_graph_result(graph, 0, &value, &error));
  CHECK(strcmp(value.name, "probability") == 0 && value.rank == 2 && strcmp(value.lengths[1], "10") == 0);
  FAILS(hearth_graph_result(graph, 1, &value, &error), HEARTH_OUT_OF_RANGE, "result 1 of 1");
  value.struct_size = 8;
  FAILS(hearth_graph_input(graph, 0, &value, &error), HEARTH_INVALID_ARGUMENT, "struct_size is 8");
  OK(hearth_graph_weights(graph, &report, &error));
  CHECK(report.tensors == 0 && report.f32_bytes == 0 && strcmp(report.worst, "") == 0 && report.num_kept == 0);
  CHECK(hearth_graph_num_warnings(graph) == 0 && hearth_graph_warning(graph, 0) == NULL);
}

/* A plan in memory, with its parameters and without; `wanted` is what it computes. */
static void check_bytes(const hearth_plan* plan, float* images, size_t images_bytes, const float* wanted,
                        size_t wanted_bytes) {
  hearth_bytes *whole = NULL, *without = NULL;
  hearth_plan *loaded = NULL, *none = NULL;
  hearth_instance* run = NULL;
  hearth_prepare_options* options = hearth_prepare_options_new();
  float* result = malloc(wanted_bytes);
  char* copy;
  hearth_array input = {images, images_bytes}, output = {result, wanted_bytes}, same = {NULL, 0}, two[2];
  int64_t lengths[2] = {0, 0};
  size_t size_bytes = 0;
  OK(hearth_plan_export_bytes(plan, 1, &whole, &error));
  copy = malloc(hearth_bytes_size(whole) + 1);
  memcpy(copy + 1, hearth_bytes_data(whole), hearth_bytes_size(whole)); /* aligned to nothing */
  OK(hearth_plan_load_bytes(copy + 1, hearth_bytes_size(whole), options, &loaded, &error));
  free(copy);
  FAILS(hearth_plan_load_bytes(hearth_bytes_data(whole), hearth_bytes_size(whole) - 8, options, &none, &error),
        HEARTH_DATA_LOSS, "the plan: ");
  OK(hearth_plan_export_bytes(plan, 0, &without, &error));
  CHECK(hearth_bytes_size(without) < hearth_bytes_size(whole));
  FAILS(hearth_plan_load_bytes(hearth_bytes_data(without), hearth_bytes_size(without), options, &none, &error),
        HEARTH_INVALID_ARGUMENT, "is not in the file and not given");
  OK(hearth_prepare_options_add_parameter(options, "nothing", images, 16, release, &released, &error));
  FAILS(hearth_prepare_options_add_parameter(options, "nothing", images, 16, release, &released, &error),
        HEARTH_ALREADY_EXISTS, "'nothing' is given twice");
  FAILS(hearth_plan_load_bytes(hearth_bytes_data(whole), hearth_bytes_size(whole), options, &none, &error),
        HEARTH_INVALID_ARGUMENT, "parameter 'nothing' is given; the plan has none of this name");
  CHECK(none == NULL && released == 0);
  hearth_bytes_free(whole);
  hearth_bytes_free(without);
  hearth_prepare_options_free(options);
  CHECK(released == 1);

  FAILS(hearth_plan_instantiate_threads(loaded, -1, &run, &error), HEARTH_INVALID_ARGUMENT, "-1");
  OK(hearth_plan_instantiate_threads(loaded, 1, &run, &error));
  hearth_plan_free(loaded);
  OK(hearth_instance_output_shape(run, 0, lengths, &size_bytes, &error));
  CHECK(lengths[0] == 400 && lengths[1] == 10 && size_bytes == wanted_bytes);
  OK(hearth_instance_output_shape(run, 0, NULL, NULL, &error));
  FAILS(hearth_instance_output_shape(run, 1, NULL, NULL, &error), HEARTH_OUT_OF_RANGE, "output 1 of 1");
  OK(hearth_instance_execute_arrays(run, &input, 1, &output, 1, &error));
  CHECK(memcmp(result, wanted, wanted_bytes) == 0);
  memset(result, 0, wanted_bytes);
  OK(hearth_instance_execute_arrays(run, &same, 1, &same, 1, &error));
  CHECK(memcmp(result, wanted, wanted_bytes) == 0);
  two[0] = two[1] = input;
  FAILS(hearth_instance_execute_arrays(run, two, 2, &output, 1, &error), HEARTH_INVALID_ARGUMENT, "2 inputs");
  FAILS(hearth_instance_execute_arrays(run, NULL, 1, &output, 1, &error), HEARTH_INVALID_ARGUMENT, "inputs is NULL");
  hearth_instance_free(run);
  free(result);
}

static void* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  void* bytes = malloc(1 << 22);
  CHECK(file != NULL && bytes != NULL);
  *size = fread(bytes, 1, 1 << 22, file);
  fclose(file);
  return bytes;
}

static void check_digits(const char* model, const char* socket, const char* folder) {
  hearth_graph *graph = NULL, *same = NULL;
  hearth_plan *plan = NULL, *loaded = NULL;
  hearth_instance *run = NULL, *again = NULL;
  hearth_profile* profile = NULL;
  hearth_prepare_options* options = options_for(socket);
  hearth_prepare_stats stats = {sizeof stats, 0, 0, 0, 0, 0, 0, 0};
  hearth_value_info info = {sizeof info, NULL, HEARTH_BOOL, NULL, 0, 0};
  hearth_view view = {sizeof view, NULL, 0, HEARTH_BOOL, NULL, 0};
  const char* symbol = NULL;
  uint64_t launches = 0, time_ns = 0, num_ops = 0;
  size_t size = 0, i;
  char path[4096];
  void* bytes = read_file(model, &size);
  float *images, *first;
  FAILS(hearth_graph_from_onnx(bytes, size / 2, "half", NULL, &graph, &error), HEARTH_INVALID_ARGUMENT, "half");
  CHECK(graph == NULL);
  FAILS(hearth_graph_from_onnx_file("/nowhere.onnx", NULL, &graph, &error), HEARTH_NOT_FOUND, "/nowhere.onnx");
  OK(hearth_graph_from_onnx(bytes, size, NULL, NULL, &graph, &error));
  free(bytes);
  OK(hearth_graph_from_onnx_file(model, NULL, &same, &error));
  OK(hearth_prepare_options_set_sealed(options, 1, &error));
  FAILS(hearth_prepare(graph, options, &plan, &error), HEARTH_FAILED_PRECONDITION, "sealed: nothing is compiled");
  OK(hearth_prepare_options_set_sealed(options, 0, &error));
  OK(hearth_prepare(graph, options, &plan, &error));
  CHECK(calls > 0);
  check_cancelled(graph, socket);
  check_facts(graph);
  hearth_graph_free(graph);
  hearth_graph_free(same);
  OK(hearth_plan_stats(plan, &stats, &error));
  CHECK(stats.kernels > 0 && stats.prepare_ms > 0 && stats.compiled_kernels + stats.cache_hits <= stats.kernels);
  stats.struct_size = 8;
  FAILS(hearth_plan_stats(plan, &stats, &error), HEARTH_INVALID_ARGUMENT, "struct_size is 8");
  CHECK(strcmp(hearth_plan_device(plan), "cpu") == 0 && hearth_plan_threads(plan) == 1);
  CHECK(hearth_plan_num_inputs(plan) == 1 && hearth_plan_num_outputs(plan) == 1 && hearth_plan_num_variables(plan) == 0);
  FAILS(hearth_plan_output(plan, 1, &info, &error), HEARTH_OUT_OF_RANGE, "output 1 of 1");
  FAILS(hearth_plan_variable(plan, 0, NULL, NULL, NULL, &error), HEARTH_OUT_OF_RANGE, "variable 0 of 0");
  OK(hearth_plan_output(plan, 0, &info, &error));
  CHECK(strcmp(info.name, "probability") == 0 && info.rank == 2 && info.max_shape[1] == 10);
  OK(hearth_plan_input(plan, 0, &info, &error));
  CHECK(strcmp(info.name, "image") == 0 && info.dtype == HEARTH_F32 && info.rank == 4 && info.max_shape[0] == 400);
  images = calloc(1, info.max_bytes);
  for (i = 0; i < info.max_bytes / sizeof *images; ++i) images[i] = (float)(i % 17) / 16;

  OK(hearth_plan_instantiate(plan, &run, &error));
  OK(hearth_instance_bind_input(run, "image", images, info.max_bytes, &error));
  FAILS(hearth_instance_bind_input(run, "image", images, 16, &error), HEARTH_INVALID_ARGUMENT, "'image'");
  FAILS(hearth_instance_bind_input(run, "picture", images, 16, &error), HEARTH_NOT_FOUND, "'picture'");
  FAILS(hearth_instance_bind_input(run, "image", NULL, info.max_bytes, &error), HEARTH_INVALID_ARGUMENT, "data is NULL");
  FAILS(hearth_instance_set_variable(run, "n", 1, &error), HEARTH_NOT_FOUND, "'n'");
  OK(hearth_instance_execute(run, &error));
  OK(hearth_instance_output(run, "probability", &view, &error));
  CHECK(view.dtype == HEARTH_F32 && view.rank == 2 && view.shape[0] == 400 && view.size_bytes == 16000);
  first = malloc(view.size_bytes);
  memcpy(first, view.data, view.size_bytes);
  view.struct_size = 0;
  FAILS(hearth_instance_output(run, "probability", &view, &error), HEARTH_INVALID_ARGUMENT, "struct_size");
  view.struct_size = sizeof view;
  OK(hearth_instance_execute_profiled(run, &profile, &error));
  /* Kernels that only pack weights ran at prepare. */
  CHECK(hearth_profile_num_kernels(profile) > 0 && hearth_profile_num_kernels(profile) <= stats.kernels &&
        hearth_profile_total_ns(profile) > 0);
  OK(hearth_profile_kernel(profile, 0, &symbol, &launches, &time_ns, &num_ops, &error));
  CHECK(symbol != NULL && launches > 0 && time_ns > 0);
  OK(hearth_profile_kernel(profile, 0, NULL, NULL, NULL, NULL, &error));
  FAILS(hearth_profile_kernel(profile, 1000, NULL, NULL, NULL, NULL, &error), HEARTH_OUT_OF_RANGE, "kernel 1000");
  hearth_profile_free(profile);

  snprintf(path, sizeof path, "%s/digits.hearth", folder);
  OK(hearth_plan_export(plan, path, 1, &error));
  FAILS(hearth_plan_export(plan, "/nowhere/x", 1, &error), HEARTH_NOT_FOUND, "/nowhere/x");
  OK(hearth_plan_load(path, NULL, &loaded, &error));
  FAILS(hearth_plan_load(model, NULL, &loaded, &error), HEARTH_INVALID_ARGUMENT, "digits.onnx");
  OK(hearth_plan_instantiate(loaded, &again, &error));
  hearth_plan_free(loaded); /* its instance stays */
  OK(hearth_instance_set_input(again, "image", images, info.max_bytes, &error));
  FAILS(hearth_instance_set_input(again, "image", images, 4, &error), HEARTH_INVALID_ARGUMENT, "takes 102400 bytes");
  OK(hearth_instance_input(again, "image", &view, &error));
  CHECK(((float*)view.data)[16] == 1);
  OK(hearth_instance_execute(again, &error));
  OK(hearth_instance_output(again, "probability", &view, &error));
  CHECK(memcmp(view.data, first, view.size_bytes) == 0);
  check_bytes(plan, images, info.max_bytes, first, view.size_bytes);
  hearth_instance_free(again);
  hearth_instance_free(run);
  hearth_plan_free(plan);
  hearth_prepare_options_free(options);
  free(first);
  free(images);
}

static void check_symbolic(const char* model, const char* socket) {
  hearth_graph* graph = NULL;
  hearth_plan* plan = NULL;
  hearth_instance* run = NULL;
  hearth_import_options* import = hearth_import_options_new();
  hearth_prepare_options* options = options_for(socket);
  hearth_view view = {sizeof view, NULL, 0, HEARTH_BOOL, NULL, 0};
  const char* name = NULL;
  int64_t min = 0, max = 0, shape[2] = {4, 3}, wrong[2] = {3, 4};
  const int64_t ends[2] = {3, 4};
  float values[12] = {-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12}, result[12];
  struct DLManagedTensor *given, *copy = NULL;
  struct DLManagedTensorVersioned *versioned, *versioned_copy = NULL;
  const int64_t two[2] = {2, 3};
  hearth_shape shapes = {NULL, 2};
  FAILS(hearth_import_options_set_dim(import, "n", 3, 2, &error), HEARTH_INVALID_ARGUMENT, "from 3 to 2");
  FAILS(hearth_import_options_set_weights(import, HEARTH_F64, &error), HEARTH_INVALID_ARGUMENT, "stored as f64");
  FAILS(hearth_import_options_set_constant(import, "x", (hearth_dtype)50, shape, 2, values, 48, &error),
        HEARTH_INVALID_ARGUMENT, "dtype is 50");
  FAILS(hearth_import_options_set_constant(import, "x", HEARTH_F32, shape, 2, values, 40, &error),
        HEARTH_INVALID_ARGUMENT, "'x'");
  OK(hearth_import_options_set_weights(import, HEARTH_F32, &error));
  OK(hearth_import_options_set_dim(import, "n", 1, 4, &error));
  FAILS(hearth_import_options_set_dim_parts(import, "n", 1, 4, NULL, 2, NULL, 0, &error), HEARTH_INVALID_ARGUMENT,
        "ends is NULL");
  FAILS(hearth_import_options_set_dim_parts(import, "n", 1, 4, NULL, 0, NULL, 1, &error), HEARTH_INVALID_ARGUMENT,
        "points is NULL");
  OK(hearth_import_options_set_dim_parts(import, "n", 1, 4, ends, 2, NULL, 0, &error));
  OK(hearth_graph_from_onnx_file(model, import, &graph, &error));
  OK(hearth_prepare(graph, options, &plan, &error));
  CHECK(hearth_plan_num_variables(plan) == 1);
  OK(hearth_plan_variable(plan, 0, &name, &min, &max, &error));
  CHECK(strcmp(name, "n") == 0 && min == 1 && max == 4);
  OK(hearth_plan_instantiate(plan, &run, &error));

  given = tensor_of(values, wrong, 2);
  FAILS(hearth_instance_bind_input_dlpack(run, "x", given, &error), HEARTH_INVALID_ARGUMENT,
        "input 'x' is f32 [4, 3], the tensor is f32 [3, 4]");
  CHECK(deleted == 0); /* a refused one stays the caller's */
  given->array.shape = shape;
  OK(hearth_instance_bind_input_dlpack(run, "x", given, &error));
  OK(hearth_instance_execute(run, &error));
  OK(hearth_instance_output_dlpack(run, "y", &copy, &error));
  CHECK(copy->array.ndim == 2 && copy->array.shape[0] == 4 && ((float*)copy->array.data)[3] == 4 &&
        ((float*)copy->array.data)[0] == 0);
  copy->deleter(copy);
  OK(hearth_instance_bind_input(run, "x", values, sizeof values, &error));
  CHECK(deleted == 1);

  versioned = calloc(1, sizeof *versioned);
  versioned->major = 2;
  versioned->array = tensor_array(values, shape, 2);
  versioned->deleter = delete_versioned;
  FAILS(hearth_instance_bind_input_dlpack_versioned(run, "x", versioned, &error), HEARTH_INVALID_ARGUMENT,
        "is of DLPack version 2.0; expected 1.x");
  CHECK(deleted == 1);
  versioned->major = 1;
  OK(hearth_instance_bind_input_dlpack_versioned(run, "x", versioned, &error));
  OK(hearth_instance_execute(run, &error));
  OK(hearth_instance_output_dlpack_versioned(run, "y", &versioned_copy, &error));
  CHECK(versioned_copy->major == 1 && versioned_copy->flags == 2 && ((float*)versioned_copy->array.data)[3] == 4);
  versioned_copy->deleter(versioned_copy);
  OK(hearth_instance_bind_input(run, "x", values, sizeof values, &error));
  CHECK(deleted == 2);

  shapes.lengths = wrong;
  FAILS(hearth_instance_set_shapes(run, &shapes, 1, &error), HEARTH_INVALID_ARGUMENT,
        "input 'x' has 4 along axis 1; expected 3");
  shapes.lengths = two;
  OK(hearth_instance_set_shapes(run, &shapes, 1, &error));
  OK(hearth_instance_output_shape(run, 0, wrong, NULL, &error));
  CHECK(wrong[0] == 2 && wrong[1] == 3);
  shapes.lengths = NULL;
  FAILS(hearth_instance_set_shapes(run, &shapes, 1, &error), HEARTH_INVALID_ARGUMENT, "variable 'n'");
  FAILS(hearth_instance_set_shapes(run, NULL, 1, &error), HEARTH_INVALID_ARGUMENT, "shapes is NULL");

  OK(hearth_instance_set_variable(run, "n", 2, &error));
  FAILS(hearth_instance_set_variable(run, "n", 5, &error), HEARTH_OUT_OF_RANGE, "'n'");
  OK(hearth_instance_bind_output(run, "y", result, sizeof result, &error));
  OK(hearth_instance_execute(run, &error));
  CHECK(result[1] == 2 && result[0] == 0 && result[5] == 6);
  OK(hearth_instance_output(run, "y", &view, &error));
  CHECK(view.shape[0] == 2 && view.data == result);
  hearth_instance_free(run);

  OK(hearth_plan_instantiate(plan, &run, &error));
  OK(hearth_instance_carry(run, "y", "x", &error));
  OK(hearth_instance_set_carried(run, "x", values, sizeof values, &error));
  OK(hearth_instance_execute(run, &error));
  OK(hearth_instance_execute(run, &error));
  OK(hearth_instance_output(run, "y", &view, &error));
  CHECK(((float*)view.data)[11] == 12);
  FAILS(hearth_instance_carry(run, "z", "x", &error), HEARTH_NOT_FOUND, "'z'");
  hearth_instance_free(run);

  given = tensor_of(values, shape, 2);
  OK(hearth_plan_instantiate(plan, &run, &error));
  OK(hearth_instance_bind_input_dlpack(run, "x", given, &error));
  hearth_instance_free(run);
  CHECK(deleted == 3);
  hearth_plan_free(plan);
  hearth_graph_free(graph);

  /* An input that is part of what is computed. */
  OK(hearth_import_options_set_constant(import, "x", HEARTH_F32, shape, 2, values, sizeof values, &error));
  graph = NULL;
  OK(hearth_graph_from_onnx_file(model, import, &graph, &error));
  hearth_graph_free(graph);
  hearth_import_options_free(import);
  hearth_prepare_options_free(options);

  options = NULL;
  setenv("HEARTH_THREADS", "many", 1);
  FAILS(hearth_prepare_options_from_env(&options, &error), HEARTH_INVALID_ARGUMENT, "HEARTH_THREADS");
  CHECK(options == NULL);
  setenv("HEARTH_THREADS", "1", 1);
  OK(hearth_prepare_options_from_env(&options, &error));
  OK(hearth_prepare_options_set_socket(options, "/nowhere/s", &error));
  OK(hearth_prepare_options_set_auto_start(options, 0, &error));
  hearth_prepare_options_free(options);
  FAILS(hearth_graph_from_onnx_file(model, NULL, &graph, &error), HEARTH_INVALID_ARGUMENT, "n");
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  check_names();
  check_null();
  check_digits(argv[1], argv[3], argv[4]);
  check_symbolic(argv[2], argv[3]);
  printf("ok\n");
  return 0;
}
