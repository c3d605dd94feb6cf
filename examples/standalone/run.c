/* A C program against an installed Hearth: runs an ONNX model on inputs of zeros and prints what comes out.
 *   run MODEL.onnx
 */
#include <hearth/hearth.h>
#include <stdio.h>

static int failed(hearth_error* error) {
  fprintf(stderr, "run: %s: %s\n", hearth_code_name(hearth_error_code(error)), hearth_error_message(error));
  hearth_error_free(error);
  return 1;
}

int main(int argc, char** argv) {
  hearth_error* error = NULL;
  hearth_graph* graph = NULL;
  hearth_plan* plan = NULL;
  hearth_instance* instance = NULL;
  hearth_prepare_stats stats = {.struct_size = sizeof stats};
  size_t i;
  if (argc != 2) {
    fprintf(stderr, "usage: run MODEL.onnx\n");
    return 2;
  }
  if (hearth_graph_from_onnx_file(argv[1], NULL, &graph, &error) != HEARTH_OK ||
      hearth_prepare(graph, NULL, &plan, &error) != HEARTH_OK || hearth_plan_stats(plan, &stats, &error) != HEARTH_OK ||
      hearth_plan_instantiate(plan, &instance, &error) != HEARTH_OK ||
      hearth_instance_execute(instance, &error) != HEARTH_OK) {
    return failed(error);
  }
  printf("hearth %s on %s: %u kernels, %u compiled now\n", hearth_version(), hearth_plan_device(plan), stats.kernels,
         stats.compiled_kernels);
  for (i = 0; i < hearth_plan_num_outputs(plan); ++i) {
    hearth_value_info info = {.struct_size = sizeof info};
    hearth_view view = {.struct_size = sizeof view};
    if (hearth_plan_output(plan, i, &info, &error) != HEARTH_OK ||
        hearth_instance_output(instance, info.name, &view, &error) != HEARTH_OK) {
      return failed(error);
    }
    printf("%s: %s, %zu bytes", info.name, hearth_dtype_name(view.dtype), view.size_bytes);
    if (view.dtype == HEARTH_F32 && view.size_bytes > 0) printf(", begins with %g", (double)*(const float*)view.data);
    printf("\n");
  }
  hearth_instance_free(instance);
  hearth_plan_free(plan);
  hearth_graph_free(graph);
  return 0;
}
