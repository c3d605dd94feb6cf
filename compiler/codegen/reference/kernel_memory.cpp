#include "compiler/codegen/reference/kernel_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::reference {
namespace {

constexpr std::uint8_t kGarbage = 0xa5;

// A value of one lane counts for every lane.
Element lane_of(const Value& value, std::size_t lane) { return value[value.size() == 1 ? 0 : lane]; }

bool fits(const Value& value, std::size_t lanes) { return value.size() == 1 || value.size() == lanes; }

absl::Status wrong_lanes_in(ir::UOpRef where) {
  return absl::InvalidArgumentError(absl::StrCat("reference: lane counts do not agree in ", ir::describe(where, 3)));
}

}  // namespace

absl::StatusOr<HostTensor*> KernelMemory::buffer_of(ir::UOpRef param, const Instance& instance) {
  if (param->is(ir::Op::Allocate)) {
    auto [found, added] = allocations_.try_emplace({param, instance});
    if (added) {
      found->second = HostTensor(param->dtype.scalar, {param->as<ir::AllocationInfo>().elements});
      std::ranges::fill(found->second.bytes, kGarbage);
    }
    return &found->second;
  }
  if (!param->is(ir::Op::Param))
    return absl::InvalidArgumentError(absl::StrCat("reference: neither param nor allocation: ", ir::describe(param)));
  const std::uint32_t slot = param->as<ir::ParamInfo>().slot;
  if (slot >= run_.buffers.size())
    return absl::InvalidArgumentError(absl::StrCat("reference: no buffer for slot ", slot));
  return &run_.buffers[slot];
}

absl::StatusOr<std::uint8_t*> KernelMemory::address(ir::UOpRef param, const Instance& instance, ir::DType dtype,
                                                    const Value& indices, std::size_t lane, bool is_store,
                                                    ir::UOpRef where) {
  const char* const verb = is_store ? "store" : "load";
  HEARTH_ASSIGN_OR_RETURN(HostTensor * found, buffer_of(param, instance));
  HostTensor& buffer = *found;
  const auto name = [param] {
    return param->is(ir::Op::Allocate) ? absl::StrCat("allocation ", param->as<ir::AllocationInfo>().id)
                                       : absl::StrCat("slot ", param->as<ir::ParamInfo>().slot);
  };
  if (buffer.dtype != dtype.scalar) {
    return absl::InvalidArgumentError(absl::StrCat("reference: ", verb, " of ", ir::to_string(dtype), " in ", name(),
                                                   " of ", ir::to_string(buffer.dtype), ": ", ir::describe(where, 3)));
  }
  const int width = ir::byte_size(dtype);
  const auto size = static_cast<std::int64_t>(buffer.bytes.size()) / width;
  const std::int64_t index = indices.size() == 1 ? indices[0].i + static_cast<std::int64_t>(lane) : indices[lane].i;
  if (index < 0 || index >= size) {
    return absl::OutOfRangeError(absl::StrCat("reference: ", verb, " of element ", index, " of ", name(), " with ",
                                              size, " elements: ", ir::describe(where, 6)));
  }
  std::uint8_t* const at = buffer.bytes.data() + index * width;
  if (observer_ != nullptr) HEARTH_RETURN_IF_ERROR(observer_->touch({param, at, index, is_store, where}));
  return at;
}

absl::StatusOr<Value> KernelMemory::load(ir::UOpRef param, ir::DType dtype, const Value& indices, const Value& gate,
                                         const Value& alternative, ir::UOpRef where, const Instance& instance) {
  Value result(dtype.lanes);
  if (!fits(indices, dtype.lanes) || !fits(gate, dtype.lanes) || !fits(alternative, dtype.lanes))
    return wrong_lanes_in(where);
  for (std::size_t lane = 0; lane < result.size(); ++lane) {
    if (lane_of(gate, lane).i == 0) {
      result[lane] = lane_of(alternative, lane);
      continue;
    }
    HEARTH_ASSIGN_OR_RETURN(std::uint8_t* at,
                            address(param, instance, dtype, indices, lane, /*is_store=*/false, where));
    result[lane] = read_element(dtype.scalar, at);
  }
  return result;
}

absl::Status KernelMemory::store(ir::UOpRef param, ir::DType dtype, const Value& indices, const Value& gate,
                                 const Value& value, ir::UOpRef where, const Instance& instance) {
  if (!fits(indices, value.size()) || !fits(gate, value.size())) return wrong_lanes_in(where);
  for (std::size_t lane = 0; lane < value.size(); ++lane) {
    if (lane_of(gate, lane).i == 0) continue;
    HEARTH_ASSIGN_OR_RETURN(std::uint8_t* at, address(param, instance, dtype, indices, lane, /*is_store=*/true, where));
    write_element(dtype.scalar, value[lane], at);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> KernelMemory::variable(ir::UOpRef var) const {
  const auto& info = var->as<ir::VarInfo>();
  if (info.slot >= run_.vars.size())
    return absl::InvalidArgumentError(absl::StrCat("reference: no value for variable ", info.name));
  const std::int64_t value = run_.vars[info.slot];
  if (value < info.min || value > info.max) {
    return absl::InvalidArgumentError(
        absl::StrCat("reference: ", info.name, " = ", value, " is not in [", info.min, ", ", info.max, "]"));
  }
  return value;
}

}  // namespace hearth::codegen::reference
