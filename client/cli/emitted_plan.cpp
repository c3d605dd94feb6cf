#include "client/cli/emitted_plan.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/kernel_rows.h"
#include "client/cli/load_model.h"
#include "client/cli/plan_facts.h"
#include "hearth/error.h"
#include "runtime/devices/devices.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kManifestVersion = 1;

// A target without a driver here has blobs alone, which are ELF files.
runtime::KernelFormat format_of(const v1::Target& target, const std::string& code) {
  const runtime::Driver* const driver = runtime::find_driver(target.device());
  const runtime::KernelFormat format = driver != nullptr ? driver->format() : runtime::KernelFormat{"elf", ".so"};
  // A daemon that has ptxas sends ELF.
  if (format.name == "ptx" && code.starts_with("\177ELF")) return {"cubin", ".cubin"};
  return format;
}

std::string three_digits(int number) {
  std::string text = std::to_string(number);
  return text.insert(0, text.size() < 3 ? 3 - text.size() : 0, '0');
}

std::string kernel_file(const EmittedPlan& emitted, int kernel) {
  const runtime::KernelFormat format =
      format_of(emitted.plan.target(), emitted.codes[static_cast<std::size_t>(kernel)]);
  return str_cat(three_digits(kernel), "_", short_symbol(emitted.plan.kernels(kernel).symbol()),
                 std::string(format.suffix));
}

std::string constant_file(int buffer) { return str_cat("constant_", three_digits(buffer), ".bin"); }

// A number where the variables do not matter, else an expression as text.
Json dim_json(const v1::Expr& expr, const v1::Plan& plan) {
  const client::Dim dim = dim_of(expr, plan);
  return dim.is_const() ? Json(dim.value()) : Json(dim.to_string());
}

Json kernels_json(const EmittedPlan& emitted) {
  const v1::Plan& plan = emitted.plan;
  Json kernels = Json::array();
  for (int i = 0; i < plan.kernels_size(); ++i) {
    const v1::PlanKernel& kernel = plan.kernels(i);
    const std::string& code = emitted.codes[static_cast<std::size_t>(i)];
    const runtime::KernelFormat format = format_of(plan.target(), code);
    Json item = {{"name", kernel.symbol()},
                 {"file", kernel_file(emitted, i)},
                 {"format", std::string(format.name)},
                 {"entry_point", format.name == "spirv" ? "main" : kernel.symbol()},
                 {"bytes", code.size()},
                 {"sha256", to_hex(sha256(code))},
                 {"operations", kernel.num_ops()},
                 {"blob", kernel.has_blob()}};
    if (kernel.workgroup_size() > 0) {
      item["workgroup"] = {kernel.workgroup_size(), 1, 1};
      item["unit_is_workgroup"] = kernel.unit_is_workgroup();
    }
    kernels.push_back(std::move(item));
  }
  return kernels;
}

Json buffers_json(const v1::Plan& plan) {
  Json buffers = Json::array();
  for (int i = 0; i < plan.buffers_size(); ++i) {
    const v1::PlanBuffer& buffer = plan.buffers(i);
    Json shape = Json::array();
    for (const v1::Expr& dim : buffer.shape()) shape.push_back(dim_json(dim, plan));
    Json item = {{"kind", absl::AsciiStrToLower(v1::PlanBuffer::Kind_Name(buffer.kind()))},
                 {"name", buffer.name()},
                 {"type", std::string(dtype_name(static_cast<DType>(buffer.dtype())))},
                 {"shape", std::move(shape)},
                 {"max_bytes", buffer.max_bytes()}};
    if (buffer.kind() == v1::PlanBuffer::ARENA || buffer.kind() == v1::PlanBuffer::PERSISTENT)
      item["offset"] = buffer.offset();
    if (buffer.kind() == v1::PlanBuffer::CONSTANT) item["file"] = constant_file(i);
    if (buffer.kind() == v1::PlanBuffer::VIEW) {
      const v1::LoopView& view = buffer.view();
      item["view"] = {{"of", absl::AsciiStrToLower(v1::LoopView::Kind_Name(view.kind()))},
                      {"loop", view.loop()},
                      {"buffer", view.buffer()},
                      {"other", view.other()},
                      {"reverse", view.reverse()}};
    }
    buffers.push_back(std::move(item));
  }
  return buffers;
}

Json launches_json(const v1::Plan& plan) {
  Json launches = Json::array();
  for (const v1::Launch& launch : plan.launches()) {
    Json variables = Json::array();
    for (const std::uint32_t var : launch.vars()) variables.push_back(plan.vars(static_cast<int>(var)).name());
    launches.push_back({{"kernel", launch.kernel()},
                        {"buffers", std::vector<std::uint32_t>(launch.buffers().begin(), launch.buffers().end())},
                        {"variables", std::move(variables)},
                        {"units", dim_json(launch.grid(), plan)},
                        {"max_units", dim_of(launch.grid(), plan).max()},
                        {"once", launch.once()}});
    for (const v1::LaunchCondition& condition : launch.run_if())
      launches.back()["run_if"].push_back({{"buffer", condition.buffer()}, {"value", condition.value()}});
  }
  return launches;
}

}  // namespace

absl::Status check_output_dir(const std::string& folder) {
  std::error_code error;
  const fs::file_status there = fs::status(folder, error);
  if (!fs::exists(there)) return absl::OkStatus();
  if (!fs::is_directory(there)) return absl::InvalidArgumentError(str_cat(folder, ": is no folder"));
  if (fs::is_empty(folder, error) && !error) return absl::OkStatus();
  return absl::InvalidArgumentError(
      str_cat(folder, ": ", error ? error.message() : "has files in it; name a new folder"));
}

absl::StatusOr<nlohmann::ordered_json> manifest_json(const EmittedPlan& emitted) {
  const v1::Plan& plan = emitted.plan;
  return client::catch_jit_error([&] {
    Json variables = Json::array(), loops = Json::array();
    for (const v1::Variable& variable : plan.vars())
      variables.push_back({{"name", variable.name()}, {"min", variable.min()}, {"max", variable.max()}});
    for (const v1::PlanLoop& loop : plan.loops()) {
      loops.push_back({{"first_launch", loop.first_launch()},
                       {"launches", loop.num_launches()},
                       {"count", dim_json(loop.count(), plan)}});
    }
    return Json{{"manifest_version", kManifestVersion},
                {"model", emitted.model},
                {"target", target_json(plan.target())},
                {"kernel_abi", plan.target().abi_version()},
                {"variables", std::move(variables)},
                {"arena_bytes", plan.arena_bytes()},
                {"persistent_bytes", plan.persistent_bytes()},
                {"buffers", buffers_json(plan)},
                {"kernels", kernels_json(emitted)},
                {"launches", launches_json(plan)},
                {"loops", std::move(loops)}};
  });
}

absl::Status write_emitted(const EmittedPlan& emitted, const std::string& folder) {
  HEARTH_ASSIGN_OR_RETURN(const Json manifest, manifest_json(emitted));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::Status(absl::ErrnoToStatusCode(error.value()), str_cat(folder, ": ", error.message()));
  const auto write = [&](const std::string& file, std::string_view bytes) {
    return runtime::write_file(fs::path(folder) / file, {bytes});
  };
  for (int i = 0; i < emitted.plan.kernels_size(); ++i) {
    const absl::Status written = write(kernel_file(emitted, i), emitted.codes[static_cast<std::size_t>(i)]);
    if (!written.ok()) return written;
  }
  for (int i = 0; i < emitted.plan.buffers_size(); ++i) {
    const v1::PlanBuffer& buffer = emitted.plan.buffers(i);
    if (buffer.kind() != v1::PlanBuffer::CONSTANT) continue;
    HEARTH_RETURN_IF_ERROR(write(constant_file(i), buffer.data()));
  }
  const std::string text = printable_json(manifest.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
  return write("manifest.json", text);
}

}  // namespace hearth::cli
