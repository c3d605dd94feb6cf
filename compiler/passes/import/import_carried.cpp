// Graph.carried: outputs that the next run takes as inputs. Both get the memory of their greatest lengths, so that what
// grows keeps its place: the input is the beginning of its memory, the output is all of it, with what the input has
// there behind its own end. kernel/update_in_place then stores only what is new.
#include "compiler/ir/length.h"
#include "compiler/passes/import/importer.h"
#include "fmt/format.h"

namespace hearth::passes {

using absl::InvalidArgumentError;
using ir::Op;
using ir::Shape;
using ir::UOpRef;

constexpr std::size_t kMaxNamesListed = 32;  // of an error

// A pair can be kept in place where its output is computed behind its input and nothing else is the same value.
absl::Status Importer::find_carried() {
  if (proto_.carried().empty()) return absl::OkStatus();
  std::map<std::string, int> outputs, inputs;  // nodes
  std::map<int, int> num_names;                // of a node that is an output
  for (const v1::GraphOutput& o : proto_.outputs()) {
    outputs.emplace(o.name(), static_cast<int>(o.node()));
    ++num_names[static_cast<int>(o.node())];
  }
  for (int i = 0; i < proto_.nodes_size(); ++i) {
    if (proto_.nodes(i).op() == v1::INPUT) inputs.emplace(proto_.nodes(i).name(), i);
  }
  const auto list = [](const std::map<std::string, int>& nodes) {
    std::vector<std::string> names;
    for (const auto& [name, node] : nodes) {
      if (names.size() == kMaxNamesListed) break;
      names.push_back(fmt::format("'{}'", name));
    }
    return fmt::format("{}{}", fmt::join(names, ", "), nodes.size() > names.size() ? " and more" : "");
  };
  std::set<std::string> seen_outputs, seen_inputs;
  for (const v1::CarriedInput& carried : proto_.carried()) {
    const auto bad = [&](std::string_view why) {
      return InvalidArgumentError(
          fmt::format("output '{}' carried to input '{}': {}", carried.output(), carried.input(), why));
    };
    if (!seen_outputs.insert(carried.output()).second || !seen_inputs.insert(carried.input()).second)
      return bad("one of them is carried twice");
    const auto output = outputs.find(carried.output()), input = inputs.find(carried.input());
    if (output == outputs.end()) return bad(fmt::format("there is no such output; there are: {}", list(outputs)));
    if (input == inputs.end()) return bad(fmt::format("nothing reads such an input; there are: {}", list(inputs)));
    pairs_.push_back({output->second, input->second});
    if (input->second < output->second && num_names[output->second] == 1 && carried.storage_size() > 0) {
      carried_[output->second] = &carried;
      carried_into_[input->second] = &carried;
    }
  }
  return absl::OkStatus();
}

Result Importer::with_room(const v1::CarriedInput& carried, ir::DType dtype, const Shape& shape,
                           ir::BufferInfo buffer) {
  Shape storage;
  for (const std::int64_t length : carried.storage()) storage.push_back(g_.index(length));
  if (storage.size() != shape.size())
    return InvalidArgumentError(fmt::format("carried in memory of {} axes, not {}", storage.size(), shape.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!is_at_least(storage[i], shape[i]))
      return InvalidArgumentError(fmt::format("axis {}: length {} is not proved within the memory's {}", i,
                                              text({shape[i]}), text({storage[i]})));
  }
  if (auto s = check_stored(storage, dtype); !s.ok()) return s;
  out_.buffers[buffer.id].shape = storage;
  UOpRef room = rooms_[carried.input()] = g_.make(Op::Buffer, dtype, storage, buffer);
  if (storage == shape) return room;
  std::vector<UOpRef> beginning(shape.size() + 1, g_.index(0));
  beginning[0] = room;
  beginning.insert(beginning.end(), shape.begin(), shape.end());
  return g_.make(Op::Shrink, dtype, beginning);
}

Result Importer::kept_in_place(int node, UOpRef value) {
  const v1::CarriedInput& carried = *carried_.at(node);
  UOpRef room = rooms_.at(carried.input());
  const Shape shape = shapes_.of(value), storage = shapes_.of(room);
  if (value->dtype != room->dtype || shape.size() != storage.size()) return value;  // check_carried says so
  ImportedCarry& kept = out_.carried.emplace_back();
  kept.buffer = room->as<ir::BufferInfo>().id;
  kept.output_shape = shape;
  for (int i = 0; i < proto_.outputs_size(); ++i) {
    if (static_cast<int>(proto_.outputs(i).node()) == node) kept.output = static_cast<std::uint32_t>(i);
  }
  const UOpRef input = values_[std::ranges::find(pairs_, node, &std::pair<int, int>::first)->second];
  kept.input_shape = shapes_.of(input);
  if (shape == storage) return value;
  std::vector<UOpRef> more(shape.size() + 1, g_.index(0)), beginning = more;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!is_at_least(storage[i], shape[i]))
      return InvalidArgumentError(fmt::format("axis {}: length {} is not proved within the {} of what it is carried to",
                                              i, text({shape[i]}), text({storage[i]})));
    more.push_back(ir::fold_sub(g_, storage[i], shape[i]));
    beginning.push_back(shape[i]);
  }
  const auto extended = [&](UOpRef x) {
    std::vector<UOpRef> sources = more;
    sources[0] = x;
    sources.insert(sources.begin() + 1, g_.zero_like(g_.constant(x->dtype, 0)));
    return g_.make(Op::Pad, x->dtype, sources);
  };
  UOpRef whole = whole_[node] = g_.where(extended(filled(g_.boolean(true), shape)), extended(value), room);
  beginning[0] = whole;
  return g_.make(Op::Shrink, value->dtype, beginning);
}

// Whether each carried output that was imported can ever be the input that it is carried to.
absl::Status Importer::check_carried() {
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    UOpRef output = values_[pairs_[k].first], input = values_[pairs_[k].second];
    const Shape from = shapes_.of(output), to = shapes_.of(input);
    bool alike = output->dtype == input->dtype && from.size() == to.size();
    for (std::size_t i = 0; alike && i < from.size(); ++i)
      alike = from[i]->bounds.max >= to[i]->bounds.min && to[i]->bounds.max >= from[i]->bounds.min;
    if (alike) continue;
    const v1::CarriedInput& carried = proto_.carried(static_cast<int>(k));
    return InvalidArgumentError(fmt::format("output '{}' is {} {} and cannot be carried to input '{}', which is {} {}",
                                            carried.output(), to_string(output->dtype), text(from), carried.input(),
                                            to_string(input->dtype), text(to)));
  }
  return absl::OkStatus();
}

}  // namespace hearth::passes
