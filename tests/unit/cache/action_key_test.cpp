// Keys: every field of a request changes its key (by reflection, so that a new field cannot be forgotten), provenance
// and dump do not; the encoding is injective, stable and decodable.
#include "kernels_cache/action_key.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>

#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/graph.pb.h"
#include "hearth/v1/tuning.pb.h"
#include "hearth/v1/worker.pb.h"

using namespace hearth;
using namespace hearth::cache;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

namespace {

v1::Graph sample_graph() {
  v1::Graph graph;
  graph.set_version(1);
  for (const char* name : {"n", "m"}) {
    v1::Variable* var = graph.add_vars();
    var->set_name(name);
    var->set_min(1);
    var->set_max(64);
  }
  for (int i = 0; i < 2; ++i) {
    v1::Node* node = graph.add_nodes();
    node->set_op(i == 0 ? v1::INPUT : v1::NEG);
    node->set_dtype(v1::F32);
    node->add_inputs(0);
    node->add_inputs(7);
    node->add_axes(-1);
    node->add_axes(3);
    for (int arg = 0; arg < 2; ++arg) {
      v1::Expr* expr = node->add_args();
      for (int token = 0; token < 2; ++token) {
        v1::ExprToken* added = expr->add_tokens();
        added->set_kind(token == 0 ? v1::ExprToken::CONST : v1::ExprToken::ADD);
        added->set_value(5 + arg + token);
      }
    }
    node->set_data("\x01\x02");
    node->set_name("node" + std::to_string(i));
  }
  for (int i = 0; i < 2; ++i) {
    v1::GraphOutput* output = graph.add_outputs();
    output->set_name("y" + std::to_string(i));
    output->set_node(static_cast<std::uint32_t>(i));
  }
  v1::Provenance* provenance = graph.add_provenance();
  provenance->set_node(1);
  provenance->set_text("model.py:3");
  return graph;
}

// What of a graph is older than loops has the key that it always had.
v1::Graph graph_with_loops() {
  v1::Graph graph = sample_graph();
  for (int i = 0; i < 2; ++i) {
    v1::Loop& loop = *graph.add_loops();
    *loop.mutable_body() = sample_graph();
    for (int token = 0; token < 2; ++token) loop.mutable_count()->add_tokens()->set_value(3 + i + token);
    loop.set_carried(1);
    loop.set_sliced(2);
    loop.add_collected(true);
    loop.add_collected(false);
  }
  return graph;
}

// What of a graph is older than parts of ranges has the key that it always had.
void divide(v1::Graph& graph) {
  for (v1::Variable& var : *graph.mutable_vars()) {
    for (const std::int64_t value : {8, 64}) var.add_ends(value);
    for (const std::int64_t value : {2, 5}) var.add_points(value);
    var.set_unit(2);
  }
  for (v1::Loop& loop : *graph.mutable_loops()) divide(*loop.mutable_body());
}

// What of a graph is older than carried outputs has the key that it always had.
void carry(v1::Graph& graph) {
  for (int i = 0; i < 2; ++i) {
    v1::CarriedInput& carried = *graph.add_carried();
    carried.set_output("y" + std::to_string(i));
    carried.set_input("x" + std::to_string(i));
    for (const std::int64_t length : {4, 16}) carried.add_storage(length);
  }
}

v1::Target sample_target() {
  v1::Target target;
  target.set_device("cpu");
  target.set_triple("x86_64-unknown-linux-gnu");
  target.add_features("avx2");
  target.add_features("fma");
  target.set_vector_bits(256);
  target.set_threads(8);
  target.set_abi_version(1);
  target.set_arch("znver3");
  target.set_l2_bytes(1 << 20);
  return target;
}

// Changes each field of `message` in place, calls visit(path), and puts it back.
class Mutator {
 public:
  using Visit = std::function<void(const std::string& path)>;
  explicit Mutator(Visit visit) : visit_(std::move(visit)) {}

  void mutate(Message* message, const std::string& path) {
    const auto* descriptor = message->GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* field = descriptor->field(i);
      std::string name = path.empty() ? field->name() : path + "." + field->name();
      if (field->is_repeated()) {
        mutate_repeated(message, field, name);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        mutate(message->GetReflection()->MutableMessage(message, field), name);
      } else {
        mutate_scalar(message, field, name);
      }
    }
  }

 private:
  void mutate_scalar(Message* message, const FieldDescriptor* field, const std::string& path) {
    const Reflection* r = message->GetReflection();
    auto change = [&](auto get, auto set, auto next) {
      auto old = (r->*get)(*message, field);
      (r->*set)(message, field, next(old));
      visit_(path);
      (r->*set)(message, field, old);
    };
    auto plus_one = [](auto value) { return static_cast<decltype(value)>(value + 1); };
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        return change(&Reflection::GetUInt32, &Reflection::SetUInt32, plus_one);
      case FieldDescriptor::CPPTYPE_UINT64:
        return change(&Reflection::GetUInt64, &Reflection::SetUInt64, plus_one);
      case FieldDescriptor::CPPTYPE_INT64:
        return change(&Reflection::GetInt64, &Reflection::SetInt64, plus_one);
      case FieldDescriptor::CPPTYPE_ENUM:
        return change(&Reflection::GetEnumValue, &Reflection::SetEnumValue, plus_one);
      case FieldDescriptor::CPPTYPE_BOOL:
        return change(&Reflection::GetBool, &Reflection::SetBool, [](bool value) { return !value; });
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string old = r->GetString(*message, field);
        r->SetString(message, field, old + "x");
        visit_(path);
        r->SetString(message, field, old);
        return;
      }
      default:
        FAIL("teach the mutation test the type of " << path);
    }
  }

  void mutate_repeated(Message* message, const FieldDescriptor* field, const std::string& path) {
    const Reflection* r = message->GetReflection();
    int size = r->FieldSize(*message, field);
    CAPTURE(path);
    const std::string& name = field->full_name();  // a body has none: import refuses it
    if (size == 0 && (name == "hearth.v1.Graph.loops" || name == "hearth.v1.Graph.carried")) return;
    REQUIRE(size > 0);  // the sample must fill every field, or its elements are not tested
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      for (int i = 0; i < size; ++i) {
        mutate(r->MutableRepeatedMessage(message, field, i), path + "[" + std::to_string(i) + "]");
      }
      r->AddMessage(message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      r->AddString(message, field, "added");
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      r->AddBool(message, field, false);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
      r->AddUInt32(message, field, 0);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      r->AddInt64(message, field, 0);
    } else {
      FAIL("teach the mutation test the type of " << path);
    }
    visit_(path + "+1");
    r->RemoveLast(message, field);
    if (size > 1 && field->name() != "features") {
      r->SwapElements(message, field, 0, 1);
      visit_(path + " swapped");
      r->SwapElements(message, field, 0, 1);
    }
  }

  Visit visit_;
};

struct Request {
  v1::Graph graph = sample_graph();
  v1::KernelSpec spec;
  v1::Target target = sample_target();
  v1::CompileOptions options;
  std::string build_id = "build-1";

  Request() {
    spec.set_symbol("k0");
    spec.set_ast("(ast)");
    v1::BlobSpec& blob = *spec.mutable_blob()->mutable_spec();
    for (auto* list : {blob.mutable_flags(), blob.mutable_archs(), blob.mutable_exports()}) list->Add("x");
    options.set_opt_level(2);
    for (const std::int64_t value : {1, 2}) options.add_var_values(value);
  }
  KeyMaterial plan() const { return plan_key_material(graph, target, options, build_id); }
  KeyMaterial kernel() const { return kernel_key_material(spec, target, options, build_id); }
};

bool leaves_key(const std::string& path) {
  return path.find("provenance") != std::string::npos || path == "dump" || path == "pass_times" ||
         path.rfind("var_values", 0) == 0 || path.rfind("blob", 0) == 0;  // a blob is no such kernel
}

void check_mutations(Request& request, const std::vector<Message*>& messages,
                     KeyMaterial (Request::*material)() const) {
  std::map<Digest, std::string> seen = {{key((request.*material)()), "nothing"}};
  int changed = 0, unchanged = 0;
  Mutator mutator([&](const std::string& path) {
    CAPTURE(path);
    auto [entry, is_new] = seen.emplace(key((request.*material)()), path);
    if (leaves_key(path)) {
      CHECK(!is_new);
      CHECK(entry->second == "nothing");
      ++unchanged;
    } else {
      INFO("same key as after changing " << entry->second);
      CHECK(is_new);
      ++changed;
    }
  });
  for (Message* message : messages) mutator.mutate(message, "");
  CHECK(changed > 10);
  CHECK(unchanged > 0);
  CHECK(seen.count(key((request.*material)())) == 1);  // everything was put back
  request.build_id = "build-2";
  CHECK(seen.count(key((request.*material)())) == 0);
}

}  // namespace

TEST_CASE("every field of a prepare request but provenance and dump changes the plan key, each in its own way") {
  Request request;
  request.graph = graph_with_loops();
  divide(request.graph);
  carry(request.graph);
  check_mutations(request, {&request.graph, &request.target, &request.options}, &Request::plan);
}

TEST_CASE("every field of a kernel request but dump changes the kernel key") {
  Request request;
  check_mutations(request, {&request.spec, &request.target, &request.options}, &Request::kernel);
}

TEST_CASE("tuning records are part of a plan's key where it has some, and of nothing else") {
  const Request request;
  auto plan = [&](std::string_view tuning) { return with_tuning(request.plan(), tuning); };
  CHECK(plan("").encode() == request.plan().encode());
  CHECK(key(plan("records")) != key(request.plan()));
  CHECK(key(plan("records")) != key(plan("others")));
  CHECK(differing_parts(plan("records"), request.plan()) == std::vector<std::string>{"tuning"});
  CHECK(key(plan_reads_key_material(request.plan())) != key(plan_reads_key_material(plan("records"))));
}

TEST_CASE("blob libraries are part of a plan's key where there are some") {
  const Request request;
  auto plan = [&](std::string_view blobs) {
    return plan_key_material(request.graph, request.target, request.options, request.build_id, blobs);
  };
  CHECK(plan("").encode() == request.plan().encode());
  CHECK(key(plan("one")) != key(plan("other")));
  CHECK(differing_parts(plan("one"), request.plan()) == std::vector<std::string>{"blob_libraries"});
}

TEST_CASE("a tuning record's key: every field of the flat kernel, the target and the options, and its scope") {
  v1::FlatKernel kernel;
  kernel.set_ast("(flat)");
  for (int i = 0; i < 2; ++i) kernel.add_slots()->set_constant_shape(i == 0);
  v1::Target target = sample_target();
  v1::CompileOptions options;
  for (const std::int64_t value : {1, 2}) options.add_var_values(value);
  auto material = [&] { return tuning_key_material(kernel, target, options, "build"); };
  std::map<Digest, std::string> seen = {{key(material()), "nothing"}};
  Mutator mutator([&](const std::string& path) {
    CAPTURE(path);
    CHECK(seen.emplace(key(material()), path).second == !leaves_key(path));
  });
  for (Message* message : std::initializer_list<Message*>{&kernel, &target, &options}) mutator.mutate(message, "");
  CHECK(seen.size() > 15);

  CHECK(tuning_scope(material()) == tuning_scope(target, options, "build"));
  CHECK(tuning_scope(*KeyMaterial::decode(material().encode())) == tuning_scope(target, options, "build"));
  CHECK(tuning_scope(target, options, "another") != tuning_scope(target, options, "build"));
  CHECK(tuning_scope(Request().plan()).empty());
}

TEST_CASE("bytes moved from one field to its neighbour are another key") {
  Request one, other;
  one.graph.mutable_nodes(0)->set_data("ab");
  one.graph.mutable_nodes(0)->set_name("c");
  other.graph.mutable_nodes(0)->set_data("a");
  other.graph.mutable_nodes(0)->set_name("bc");
  CHECK(key(one.plan()) != key(other.plan()));
  // The same expression tokens split over the args otherwise.
  Request split, joined;
  v1::Node* node = split.graph.mutable_nodes(0);
  *joined.graph.mutable_nodes(0)->mutable_args(0)->add_tokens() = node->args(1).tokens(0);
  joined.graph.mutable_nodes(0)->mutable_args(1)->mutable_tokens()->DeleteSubrange(0, 1);
  CHECK(key(split.plan()) != key(joined.plan()));
}

TEST_CASE("a constant of a megabyte is in the key, not in the index") {
  Request one;
  one.graph.mutable_nodes(0)->set_data(std::string(1 << 20, 'a'));
  CHECK(one.plan().encode().size() < 4096);
  Request other = one;
  other.graph.mutable_nodes(0)->mutable_data()->back() = 'b';
  CHECK(key(one.plan()) != key(other.plan()));
  // What stands there for a long one is no short one's own bytes.
  std::set<Digest> keys = {key(one.plan()), key(other.plan())};
  for (const std::size_t size : {63u, 64u, 65u, 72u, 73u}) {
    other.graph.mutable_nodes(0)->set_data(std::string(size, 'a'));
    keys.insert(key(other.plan()));
  }
  std::string size_bytes(8, '\0');
  size_bytes[2] = 16;  // of 2^20
  other.graph.mutable_nodes(0)->set_data(to_hex(sha256(one.graph.nodes(0).data())) + size_bytes);
  keys.insert(key(other.plan()));
  CHECK(keys.size() == 8);
}

TEST_CASE("features are a set; plan and kernel keys have their own domains") {
  Request one, other;
  other.target.clear_features();
  for (const char* feature : {"fma", "avx2", "fma"}) other.target.add_features(feature);
  CHECK(key(one.plan()) == key(other.plan()));
  CHECK(one.plan().domain() != one.kernel().domain());
}

TEST_CASE("the encoding is stable: a fixed request has a fixed key") {
  // A change here invalidates every cache in the field: raise the domain's version when it is meant.
  KeyMaterial material("hearth.test.v1");
  material.add("a", std::string("\0\1", 2));
  material.add("b", "");
  CHECK(to_hex(material.encode()) ==
        "0e00000000000000"
        "6865617274682e746573742e7631"
        "0200000000000000"
        "0100000000000000"
        "61"
        "0200000000000000"
        "0001"
        "0100000000000000"
        "62"
        "0000000000000000");
  CHECK(to_hex(key(Request().plan())) == "02f8ae0e9207135101172069ae5cf69777ff08ed0145ca17381f8d31c3d38d2b");
  CHECK(to_hex(key(Request().kernel())) == "0cf807260caaea11b380717b900fd0961bf0c3c7ba99ecb92af785bdeaa6e283");
}

TEST_CASE("key material decodes to what was encoded; other bytes are refused") {
  KeyMaterial material = Request().plan();
  std::string bytes = material.encode();
  absl::StatusOr<KeyMaterial> decoded = KeyMaterial::decode(bytes);
  REQUIRE(decoded.ok());
  CHECK(decoded->encode() == bytes);
  CHECK(differing_parts(material, *decoded).empty());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    REQUIRE(!KeyMaterial::decode(std::string_view(bytes).substr(0, size)).ok());
  }
  CHECK(!KeyMaterial::decode(bytes + "x").ok());
  CHECK(!KeyMaterial::decode(std::string(64, '\xff')).ok());
}

TEST_CASE("differing parts are named") {
  Request one, other;
  other.target.add_features("avx512f");
  other.build_id = "build-2";
  CHECK(differing_parts(one.plan(), other.plan()) == std::vector<std::string>{"target.features", "build_id"});
  std::vector<std::string> against_kernel = differing_parts(one.plan(), one.kernel());
  CHECK(against_kernel.front() == "domain");
  CHECK(against_kernel.back() == "kernel.ast");
  const KeyMaterial material = one.plan();
  for (const KeyPart& part : material.parts()) CHECK(part.digest() == sha256(part.bytes));
}
