// What is known of a plan's kernels: what each is for, its work, and, measured, how long it takes. Pure functions.
//
//   std::vector<KernelRow> rows = kernel_rows(explained, values);
//   add_times(*times, &rows);
#pragma once
#include <string>
#include <vector>

#include "client/cli/kernel_times.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::cli {

struct KernelRow {
  std::uint32_t place = 0;  // in the plan
  std::string symbol;
  std::string source;          // nodes of the model; empty when not known
  std::uint64_t launches = 0;  // of a replay, or, with `once`, when the plan is prepared
  bool once = false;
  std::uint64_t conditional = 0;        // of `launches`: those that a bool of the model may leave out (Plan's run_if)
  double ops = 0;                       // of one launch
  double bytes = -1;                    // moved by one launch; negative: not known
  double time_us = -1;                  // of its launches in a replay; negative: not measured
  double cycles = 0, least_cycles = 0;  // of one launch, estimated; 0: not known
  std::uint64_t units = 0;              // of its largest launch, which threads divide; 0: not measured
  int occupancy_percent = -1;           // of a GPU; negative: of none
  std::uint64_t shared_bytes = 0;       // of a GPU's workgroup
  std::uint64_t guarded = 0;            // accesses that compare with their buffer's length at run time

  // Over all launches of a replay; negative when there is nothing to tell.
  double gflops() const { return time_us > 0 && ops > 0 ? ops * launches / time_us / 1e3 : -1; }
  double gbytes() const { return time_us > 0 && bytes > 0 ? bytes * launches / time_us / 1e3 : -1; }
  // The estimate as a share of what a core's vectors of f32 do, above 1 with a matrix unit; of a GPU, of what its
  // arithmetic and its memory allow. Negative: not known.
  double peak_share() const { return cycles > 0 && ops > 0 ? least_cycles / cycles : -1; }

  // The node or line of the model that most of its work is for, and that node's operator, else the same again.
  std::string node() const;
  std::string operator_name() const;
  // "once", "2", or "0 to 2" where a bool of the model decides.
  std::string runs() const;
  // "conv1 (Conv) +2": the node, and how many others; inputs of the model are none.
  std::string from() const;
};

// `values`: of the plan's variables, for the steps of loops; none: their upper bounds.
std::vector<KernelRow> kernel_rows(const v1::ExplainResponse& explained, const std::vector<std::int64_t>& values);
// The rows of a plan alone: no sources, and operations as the plan counts them, with conversions and selections.
std::vector<KernelRow> kernel_rows(const v1::Plan& plan);
void add_times(const KernelTimes& times, std::vector<KernelRow>* rows);

// As tables show them: a symbol without "hearth_", which --kernel takes too; nodes without the words "ONNX node".
std::string short_symbol(const std::string& symbol);
std::string short_source(const std::string& source);

// "1.2 G", "340", "1.2 GFLOP", "340 FLOP": a count with a decimal prefix, and its unit.
std::string human_count(double count, const std::string& unit = "");
// "482.9", "8.45", "-" for a negative one.
std::string rate_text(double value);

}  // namespace hearth::cli
