/* Hearth's C ABI: from an ONNX model to replays, for C and for whatever can call C. What the C++ headers beside this
 * one offer beyond it (recording graphs op by op, tracing, JIT wrappers) needs C++20.
 *
 * Handles are opaque; whoever gets one frees it with the function that is named after it, and freeing NULL does
 * nothing. A plan stays usable when its graph is freed, an instance when its plan is. Strings are UTF-8 that ends in a
 * zero; those that are returned belong to their handle and live as long. Every function that can fail returns a
 * hearth_code and takes `error`, which may be NULL: where it is not, it is set to what went wrong, to be freed by the
 * caller, or to NULL after success. A call that fails changes nothing and leaves what it would have returned untouched.
 *
 * Threads: graphs and plans are immutable and used by any number of threads at once; options, an instance and a profile
 * by one at a time. No function throws. The ABI only grows: what is in this header stays as long as HEARTH_ABI_VERSION
 * is what it is, and structs say their own size, so that they can grow too.
 *
 *   hearth_graph* graph = NULL;  hearth_plan* plan = NULL;  hearth_instance* run = NULL;  hearth_error* error = NULL;
 *   if (hearth_graph_from_onnx_file("digits.onnx", NULL, &graph, &error) != HEARTH_OK ||
 *       hearth_prepare(graph, NULL, &plan, &error) != HEARTH_OK ||
 *       hearth_plan_instantiate(plan, &run, &error) != HEARTH_OK ||
 *       hearth_instance_bind_input(run, "image", pixels, sizeof pixels, &error) != HEARTH_OK ||
 *       hearth_instance_execute(run, &error) != HEARTH_OK) {
 *     fprintf(stderr, "%s\n", hearth_error_message(error));
 *   }
 */
#ifndef HEARTH_HEARTH_H_
#define HEARTH_HEARTH_H_

#include "hearth/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;          /* of dlpack.h, ABI version 0.x */
struct DLManagedTensorVersioned; /* 1.x */

/* The version of the library, "0.1.0", and its HEARTH_ABI_VERSION. */
HEARTH_API const char* hearth_version(void);
HEARTH_API int hearth_abi_version(void);

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

typedef struct hearth_graph hearth_graph;
typedef struct hearth_import_options hearth_import_options;

HEARTH_API hearth_import_options* hearth_import_options_new(void);
HEARTH_API void hearth_import_options_free(hearth_import_options* options);
/* A symbolic dimension by its name, or "INPUT.AXIS" for one without: min <= max; a range becomes a variable of the plan
 * (hearth_instance_set_variable). */
HEARTH_API hearth_code hearth_import_options_set_dim(hearth_import_options* options, const char* name, int64_t min,
                                                     int64_t max, hearth_error** error);
/* The same in parts, each with code of its own in the one plan: `num_ends` ascending lengths at which parts end, the
 * last of them `max`; or `num_points` ascending lengths that are compiled for themselves, beside the whole range. */
HEARTH_API hearth_code hearth_import_options_set_dim_parts(hearth_import_options* options, const char* name,
                                                           int64_t min, int64_t max, const int64_t* ends,
                                                           size_t num_ends, const int64_t* points, size_t num_points,
                                                           hearth_error** error);
/* An input that is part of what is computed, such as a sample rate that chooses a branch. The elements are copied; a
 * replay with another value is refused. `shape` has `rank` lengths. */
HEARTH_API hearth_code hearth_import_options_set_constant(hearth_import_options* options, const char* input,
                                                          hearth_dtype dtype, const int64_t* shape, size_t rank,
                                                          const void* data, size_t size_bytes, hearth_error** error);
/* What f32 weights are stored as: HEARTH_F32, HEARTH_BF16 or HEARTH_I8. Narrower ones cost accuracy. */
HEARTH_API hearth_code hearth_import_options_set_weights(hearth_import_options* options, hearth_dtype dtype,
                                                         hearth_error** error);

/* `options` may be NULL. A file's large weights are mapped, as long as the graph or a plan made of it lives. */
HEARTH_API hearth_code hearth_graph_from_onnx_file(const char* path, const hearth_import_options* options,
                                                   hearth_graph** graph, hearth_error** error);
/* Of a model in memory, which may go afterwards; `name` stands for it in errors and may be NULL. Weights in other files
 * are refused. */
HEARTH_API hearth_code hearth_graph_from_onnx(const void* model, size_t size_bytes, const char* name,
                                              const hearth_import_options* options, hearth_graph** graph,
                                              hearth_error** error);
HEARTH_API void hearth_graph_free(hearth_graph* graph);

/* What a model says of itself. Pointers live as long as the graph. */
typedef struct hearth_graph_value {
  size_t struct_size; /* set by the caller */
  const char* name;
  hearth_dtype dtype;
  size_t rank;
  const char* const* lengths; /* `rank` texts: "4", "batch", "past + seq" */
  /* Of a result whose length along an axis depends on the data: the output that says it, an i64 scalar; else NULL. */
  const char* length_output;
  size_t length_axis;
} hearth_graph_value;
HEARTH_API int hearth_graph_opset(const hearth_graph* graph);
/* Inputs as declared, without initializers and constants; then what is computed of them. */
HEARTH_API size_t hearth_graph_num_inputs(const hearth_graph* graph);
HEARTH_API size_t hearth_graph_num_results(const hearth_graph* graph);
HEARTH_API hearth_code hearth_graph_input(const hearth_graph* graph, size_t index, hearth_graph_value* value,
                                          hearth_error** error);
HEARTH_API hearth_code hearth_graph_result(const hearth_graph* graph, size_t index, hearth_graph_value* value,
                                           hearth_error** error);
/* What the file says and is not so, for people; NULL beyond the last. */
HEARTH_API size_t hearth_graph_num_warnings(const hearth_graph* graph);
HEARTH_API const char* hearth_graph_warning(const hearth_graph* graph, size_t index);
/* What hearth_import_options_set_weights() did. */
typedef struct hearth_weights_report {
  size_t struct_size;    /* set by the caller */
  size_t tensors;        /* stored narrow */
  uint64_t f32_bytes;    /* what they would take */
  uint64_t stored_bytes; /* what they take */
  const char* worst;     /* the tensor with the largest error; "" when none is stored narrow */
  double worst_error;    /* in parts of its largest |weight| */
  size_t num_kept;       /* tensors that stay f32, since they hold values that the narrow form has not */
} hearth_weights_report;
HEARTH_API hearth_code hearth_graph_weights(const hearth_graph* graph, hearth_weights_report* report,
                                            hearth_error** error);

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

typedef struct hearth_plan hearth_plan;
typedef struct hearth_prepare_options hearth_prepare_options;

/* The defaults: device "cpu", every CPU, 120 seconds, a daemon is started where none runs. */
HEARTH_API hearth_prepare_options* hearth_prepare_options_new(void);
/* With what the environment sets (HEARTH_DEVICE, HEARTH_THREADS, …). */
HEARTH_API hearth_code hearth_prepare_options_from_env(hearth_prepare_options** options, hearth_error** error);
HEARTH_API void hearth_prepare_options_free(hearth_prepare_options* options);
/* "cpu", "vulkan", "vulkan:N", or several between commas, of which the first that is there is used. */
HEARTH_API hearth_code hearth_prepare_options_set_device(hearth_prepare_options* options, const char* device,
                                                         hearth_error** error);
/* Of a daemon; "" or NULL: HEARTH_SOCKET, else where daemons are. */
HEARTH_API hearth_code hearth_prepare_options_set_socket(hearth_prepare_options* options, const char* path,
                                                         hearth_error** error);
/* 0: every CPU that this process may use. */
HEARTH_API hearth_code hearth_prepare_options_set_threads(hearth_prepare_options* options, int threads,
                                                          hearth_error** error);
/* Of the whole call, more than 0. */
HEARTH_API hearth_code hearth_prepare_options_set_deadline_ms(hearth_prepare_options* options, int64_t deadline_ms,
                                                              hearth_error** error);
/* 0: a daemon is not started where none runs; the call fails. */
HEARTH_API hearth_code hearth_prepare_options_set_auto_start(hearth_prepare_options* options, int auto_start,
                                                             hearth_error** error);
/* What is done to kernels: 0 nothing, 1 what is cheap, 2 (the default) all that helps. */
HEARTH_API hearth_code hearth_prepare_options_set_opt_level(hearth_prepare_options* options, int opt_level,
                                                            hearth_error** error);
HEARTH_API hearth_code hearth_prepare_options_set_fast_math(hearth_prepare_options* options, int fast_math,
                                                            hearth_error** error);
/* What becomes of floats below 1.2e-38 on the CPU: "keep"; "results" (the default): zero where one would result, and for
 * weights that are only multiplied and added; "all": operands, too. */
HEARTH_API hearth_code hearth_prepare_options_set_subnormals(hearth_prepare_options* options, const char* subnormals,
                                                             hearth_error** error);
/* Whether packed weights lie in memory that processes share; 1 is the default. */
HEARTH_API hearth_code hearth_prepare_options_set_share_weights(hearth_prepare_options* options, int share_weights,
                                                                hearth_error** error);

/* 1: a plan that is not in the daemon's cache is HEARTH_FAILED_PRECONDITION; nothing is compiled for the call. */
HEARTH_API hearth_code hearth_prepare_options_set_sealed(hearth_prepare_options* options, int sealed,
                                                         hearth_error** error);

/* Adds an output that every instance carries to an input, as hearth_instance_carry does: where it is that input with
   more behind it, such as a cache that grows, it is made in the input's memory on the CPU. */
HEARTH_API hearth_code hearth_prepare_options_add_carried(hearth_prepare_options* options, const char* output,
                                                          const char* input, hearth_error** error);

typedef enum hearth_prepare_state HEARTH_OF_INT {
  HEARTH_PREPARE_QUEUED = 0,
  HEARTH_PREPARE_LOWERING = 1,
  HEARTH_PREPARE_COMPILING = 2,
  HEARTH_PREPARE_LOADING = 3,
  HEARTH_PREPARE_PACKING = 4 /* weights are laid out as kernels read them; only where that is much */
} hearth_prepare_state;
/* Called by hearth_prepare() on its own thread, with kernels that are ready and those there are (0 while unknown); with
 * HEARTH_PREPARE_PACKING, MiB of weights that are ready and those there are. */
typedef void (*hearth_progress_fn)(void* context, hearth_prepare_state state, uint32_t kernels_done,
                                   uint32_t kernels_total);
HEARTH_API hearth_code hearth_prepare_options_set_progress(hearth_prepare_options* options, hearth_progress_fn progress,
                                                           void* context, hearth_error** error);

/* Asked by hearth_prepare() on its own thread, every 50 ms while it waits: anything but 0 ends the call with
 * HEARTH_CANCELLED. */
typedef int (*hearth_cancelled_fn)(void* context);
HEARTH_API hearth_code hearth_prepare_options_set_cancelled(hearth_prepare_options* options,
                                                            hearth_cancelled_fn cancelled, void* context,
                                                            hearth_error** error);

/* `options` may be NULL. */
HEARTH_API hearth_code hearth_prepare(const hearth_graph* graph, const hearth_prepare_options* options,
                                      hearth_plan** plan, hearth_error** error);
/* A plan file; no daemon is asked. Of the options the device, the threads (0: those it was prepared for) and subnormals
 * count; without options they are as it was prepared. */
HEARTH_API hearth_code hearth_plan_load(const char* path, const hearth_prepare_options* options, hearth_plan** plan,
                                        hearth_error** error);
/* Parameters that a plan file leaves out, for hearth_plan_load(): used where they lie until `release`, which may be
 * NULL, is called with `context`: once the options and every plan that has them are freed. */
HEARTH_API hearth_code hearth_prepare_options_add_parameter(hearth_prepare_options* options, const char* name,
                                                            const void* data, size_t size_bytes,
                                                            void (*release)(void* context), void* context,
                                                            hearth_error** error);
/* Of a plan file's bytes, which are copied. */
HEARTH_API hearth_code hearth_plan_load_bytes(const void* data, size_t size_bytes,
                                              const hearth_prepare_options* options, hearth_plan** plan,
                                              hearth_error** error);
/* Writes a plan file: whole or not at all. With `with_parameters` 0 the weights stay out of it. */
HEARTH_API hearth_code hearth_plan_export(const hearth_plan* plan, const char* path, int with_parameters,
                                          hearth_error** error);
/* The same into memory. */
typedef struct hearth_bytes hearth_bytes;
HEARTH_API hearth_code hearth_plan_export_bytes(const hearth_plan* plan, int with_parameters, hearth_bytes** bytes,
                                                hearth_error** error);
HEARTH_API const void* hearth_bytes_data(const hearth_bytes* bytes);
HEARTH_API size_t hearth_bytes_size(const hearth_bytes* bytes);
HEARTH_API void hearth_bytes_free(hearth_bytes* bytes);
HEARTH_API void hearth_plan_free(hearth_plan* plan);

typedef struct hearth_prepare_stats {
  size_t struct_size;        /* set by the caller: sizeof(hearth_prepare_stats) */
  double prepare_ms;         /* the whole hearth_prepare() */
  uint32_t kernels;          /* distinct ones of the plan */
  uint32_t compiled_kernels; /* for this call */
  uint32_t cache_hits;       /* found in the daemon's cache */
  int32_t plan_hit;          /* the plan was */
  int32_t joined;            /* it shared another caller's compile */
  uint64_t shared_weight_bytes;
} hearth_prepare_stats;
HEARTH_API hearth_code hearth_plan_stats(const hearth_plan* plan, hearth_prepare_stats* stats, hearth_error** error);
/* "cpu", "vulkan:0" */
HEARTH_API const char* hearth_plan_device(const hearth_plan* plan);
HEARTH_API int hearth_plan_threads(const hearth_plan* plan);

/* What a plan takes or gives. Pointers live as long as the plan. */
typedef struct hearth_value_info {
  size_t struct_size; /* set by the caller */
  const char* name;
  hearth_dtype dtype;
  const int64_t* max_shape; /* at the variables' upper bounds */
  size_t rank;
  size_t max_bytes;
} hearth_value_info;
HEARTH_API size_t hearth_plan_num_inputs(const hearth_plan* plan);
HEARTH_API size_t hearth_plan_num_outputs(const hearth_plan* plan);
HEARTH_API hearth_code hearth_plan_input(const hearth_plan* plan, size_t index, hearth_value_info* info,
                                         hearth_error** error);
HEARTH_API hearth_code hearth_plan_output(const hearth_plan* plan, size_t index, hearth_value_info* info,
                                          hearth_error** error);
HEARTH_API size_t hearth_plan_num_variables(const hearth_plan* plan);
/* Each of the last three may be NULL. */
HEARTH_API hearth_code hearth_plan_variable(const hearth_plan* plan, size_t index, const char** name, int64_t* min,
                                            int64_t* max, hearth_error** error);
/* What every instance carries: hearth_prepare_options_add_carried(), or a plan file that was made with it. Each of the
 * names may be NULL. */
HEARTH_API size_t hearth_plan_num_carried(const hearth_plan* plan);
HEARTH_API hearth_code hearth_plan_carried(const hearth_plan* plan, size_t index, const char** output,
                                           const char** input, hearth_error** error);

/* ---- Instances --------------------------------------------------------------------------------------------------- */

/* One replayable copy of a plan, with inputs and outputs of its own. */
typedef struct hearth_instance hearth_instance;
HEARTH_API hearth_code hearth_plan_instantiate(const hearth_plan* plan, hearth_instance** instance,
                                               hearth_error** error);
/* With threads of its own, the calling one included; 0: every CPU that this process may use. */
HEARTH_API hearth_code hearth_plan_instantiate_threads(const hearth_plan* plan, int threads, hearth_instance** instance,
                                                       hearth_error** error);
HEARTH_API void hearth_instance_free(hearth_instance* instance);

/* Variables start at their upper bounds. */
HEARTH_API hearth_code hearth_instance_set_variable(hearth_instance* instance, const char* name, int64_t value,
                                                    hearth_error** error);
/* Reads the input from the caller's memory from now on: aligned to its element, alive and unchanged during
 * hearth_instance_execute(). */
HEARTH_API hearth_code hearth_instance_bind_input(hearth_instance* instance, const char* name, const void* data,
                                                  size_t size_bytes, hearth_error** error);
/* The input reads the instance's own memory again, as it was. hearth_instance_input() is an error while it is bound;
 * hearth_instance_set_input() ends that by itself. */
HEARTH_API hearth_code hearth_instance_unbind_input(hearth_instance* instance, const char* name, hearth_error** error);
/* Writes the output to the caller's memory from now on, which overlaps no input. */
HEARTH_API hearth_code hearth_instance_bind_output(hearth_instance* instance, const char* name, void* data,
                                                   size_t size_bytes, hearth_error** error);
/* Copies an input's elements; `size_bytes` is what its shape at the variables' values takes. */
HEARTH_API hearth_code hearth_instance_set_input(hearth_instance* instance, const char* name, const void* data,
                                                 size_t size_bytes, hearth_error** error);

/* Dense and row-major. Pointers live until the next call on the instance. */
typedef struct hearth_view {
  size_t struct_size; /* set by the caller */
  void* data;
  size_t size_bytes;
  hearth_dtype dtype;
  const int64_t* shape; /* at the variables' values */
  size_t rank;
} hearth_view;
/* The memory that an input is read from; to be written to in place. */
HEARTH_API hearth_code hearth_instance_input(hearth_instance* instance, const char* name, hearth_view* view,
                                             hearth_error** error);
/* What the last execute gave; only to be read. */
HEARTH_API hearth_code hearth_instance_output(hearth_instance* instance, const char* name, hearth_view* view,
                                              hearth_error** error);

/* DLPack. Takes the tensor over, and its deleter is called when another is bound or the instance is freed; a refused
 * one stays the caller's. CPU memory, dense and row-major, of the input's dtype. */
HEARTH_API hearth_code hearth_instance_bind_input_dlpack(hearth_instance* instance, const char* name,
                                                         struct DLManagedTensor* tensor, hearth_error** error);
/* A copy of the output, which the caller frees by its deleter. */
HEARTH_API hearth_code hearth_instance_output_dlpack(hearth_instance* instance, const char* name,
                                                     struct DLManagedTensor** tensor, hearth_error** error);

/* The same with tensors of DLPack 1.x, which also have float8. */
HEARTH_API hearth_code hearth_instance_bind_input_dlpack_versioned(hearth_instance* instance, const char* name,
                                                                   struct DLManagedTensorVersioned* tensor,
                                                                   hearth_error** error);
HEARTH_API hearth_code hearth_instance_output_dlpack_versioned(hearth_instance* instance, const char* name,
                                                               struct DLManagedTensorVersioned** tensor,
                                                               hearth_error** error);

/* From now on the input reads what the output held after the execute before; zeros at first. */
HEARTH_API hearth_code hearth_instance_carry(hearth_instance* instance, const char* output, const char* input,
                                             hearth_error** error);
/* What the next execute reads from a carried input; zeros for NULL. */
HEARTH_API hearth_code hearth_instance_set_carried(hearth_instance* instance, const char* input, const void* data,
                                                   size_t size_bytes, hearth_error** error);

HEARTH_API hearth_code hearth_instance_execute(hearth_instance* instance, hearth_error** error);

/* All arrays in one call and by place, as hearth_plan_input(), _output() and _variable() have them.
 *
 * The variables at the values that the inputs' lengths have, and every length checked; an input with a NULL shape is
 * left out. A variable that no length decides is an error. */
typedef struct hearth_shape {
  const int64_t* lengths;
  size_t rank;
} hearth_shape;
HEARTH_API hearth_code hearth_instance_set_shapes(hearth_instance* instance, const hearth_shape* shapes,
                                                  size_t num_shapes, hearth_error** error);
/* The size of an output at the variables' values, and its shape: `rank` lengths are written to `lengths`, which has
 * room for what hearth_plan_output() says. Either may be NULL. */
HEARTH_API hearth_code hearth_instance_output_shape(hearth_instance* instance, size_t index, int64_t* lengths,
                                                    size_t* size_bytes, hearth_error** error);
/* Binds them as hearth_instance_bind_input() and _bind_output() do, and executes. NULL data: what is there stays, as
 * for what is carried. Bound until others are. */
typedef struct hearth_array {
  void* data; /* of an input only read */
  size_t size_bytes;
} hearth_array;
HEARTH_API hearth_code hearth_instance_execute_arrays(hearth_instance* instance, const hearth_array* inputs,
                                                      size_t num_inputs, const hearth_array* outputs,
                                                      size_t num_outputs, hearth_error** error);

/* ---- Profiles ---------------------------------------------------------------------------------------------------- */

typedef struct hearth_profile hearth_profile;
/* As hearth_instance_execute(), but slower: measures every launch. */
HEARTH_API hearth_code hearth_instance_execute_profiled(hearth_instance* instance, hearth_profile** profile,
                                                        hearth_error** error);
HEARTH_API void hearth_profile_free(hearth_profile* profile);
HEARTH_API uint64_t hearth_profile_total_ns(const hearth_profile* profile);
/* One row a kernel, slowest first. Each of the last four may be NULL. */
HEARTH_API size_t hearth_profile_num_kernels(const hearth_profile* profile);
HEARTH_API hearth_code hearth_profile_kernel(const hearth_profile* profile, size_t index, const char** symbol,
                                             uint64_t* launches, uint64_t* time_ns, uint64_t* num_ops,
                                             hearth_error** error);

#ifdef __cplusplus
}
#endif

#endif
