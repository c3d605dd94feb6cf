// Records by name, and records that make no sense.
#include <catch2/catch.hpp>
#include <functional>
#include <set>

#include "compiler/compile.h"
#include "compiler/target/check_record.h"
#include "runtime/devices/named_target.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth {
namespace {

using Catch::Matchers::Contains;

v1::Target known_record(const std::string& name) {
  const absl::StatusOr<v1::Target> target = runtime::named_target(name);
  REQUIRE(target.ok());
  return *target;
}

TEST_CASE("every target that has a name makes sense") {
  for (const std::string& name : runtime::target_names()) {
    INFO(name);
    CHECK(target::check_record(known_record(name)).ok());
  }
}

TEST_CASE("a target that nobody knows is told which ones there are") {
  const absl::Status status = runtime::named_target("vulkan:lavapip").status();
  CHECK(absl::IsNotFound(status));
  CHECK_THAT(std::string(status.message()), Contains("no target 'vulkan:lavapip'") && Contains("vulkan:lavapipe"));
}

TEST_CASE("a record with nonsense limits is refused by field before anything is compiled") {
  struct Case {
    const char* name;
    std::function<void(v1::Target&)> change;
    std::string message;
  };
  const Case cases[] = {
      {"vulkan:lavapipe", [](v1::Target& t) { t.mutable_gpu()->set_workgroup_size(0); },
       "target.gpu.workgroup_size: 0 is not from 1 to max_workgroup_invocations, 1024"},
      {"vulkan:lavapipe", [](v1::Target& t) { t.mutable_gpu()->set_workgroup_size(2048); },
       "target.gpu.workgroup_size: 2048 is not from 1 to max_workgroup_invocations, 1024"},
      {"vulkan:lavapipe", [](v1::Target& t) { t.mutable_gpu()->set_max_workgroup_invocations(1u << 31); },
       "target.gpu.max_workgroup_invocations: 2147483648 is not from 1 to 65536"},
      {"vulkan:lavapipe", [](v1::Target& t) { t.mutable_gpu()->set_subgroup_size(12); },
       "target.gpu.subgroup_size: 12 is no power of two up to 128"},
      {"vulkan:lavapipe", [](v1::Target& t) { t.mutable_gpu()->set_max_buffer_bytes(0); },
       "target.gpu.max_buffer_bytes: no buffer fits in 0 bytes"},
      {"vulkan:lavapipe", [](v1::Target& t) { t.mutable_gpu()->mutable_cooperative_matrix()->set_m(8); },
       "target.gpu.cooperative_matrix: 8 x 0 x 0 are no powers of two up to 64 of which each of 8 invocations has from "
       "1 "
       "to 64 elements"},
      {"vulkan:lavapipe",
       [](v1::Target& t) {
         v1::CooperativeMatrix& matrix = *t.mutable_gpu()->mutable_cooperative_matrix();
         matrix.set_m(8), matrix.set_n(8), matrix.set_k(8);
       },
       "target.gpu.cooperative_matrix: it needs cooperativeMatrix, which target.features lacks"},
      {"vulkan:lavapipe", [](v1::Target& t) { t.clear_features(); },
       "target.features: kernels for Vulkan need bufferDeviceAddress, which the record lacks"},
      {"cpu:x86-64-v3", [](v1::Target& t) { t.set_vector_bits(100); },
       "target.vector_bits: 100 is no multiple of 32 up to 2048"},
      {"cpu:x86-64-v3", [](v1::Target& t) { t.set_device("tpu\n"); },
       "target.device: 'tpu\\n' is not known; it is one of cpu, null, cuda, hip, vulkan"},
      {"cuda:sm_80", [](v1::Target& t) { t.set_arch("sm_8"); },
       "target.arch: 'sm_8' is not known; it is one of sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a"},
      {"cuda:sm_80", [](v1::Target& t) { t.set_triple("amdgcn-amd-amdhsa"); },
       "target.triple: \"amdgcn-amd-amdhsa\" is not nvptx64-nvidia-cuda, nor a processor's that stands in for it"},
      {"cuda:sm_80", [](v1::Target& t) { t.set_vector_bits(256); },
       "target.vector_bits: kernels of a GPU are scalar; leave it out"},
      {"hip:gfx942", [](v1::Target& t) { t.mutable_gpu()->set_workgroup_size(0); },
       "target.gpu.workgroup_size: 0 is not from 1 to max_workgroup_invocations, 1024"},
      // LLVM 19 itself would go on with a generic GPU.
      {"hip:gfx942", [](v1::Target& t) { t.set_arch("gfx950"); },
       "target.arch: gfx950: it needs LLVM 20, and this build has LLVM 19"},
  };
  for (const Case& c : cases) {
    v1::Target target = known_record(c.name);
    c.change(target);
    INFO(c.message);
    CHECK(std::string(compiler::lower(v1::Graph(), target, v1::CompileOptions()).status().message()) == c.message);
    CHECK(std::string(compiler::compile_kernel(v1::KernelSpec(), target, v1::CompileOptions()).status().message()) ==
          c.message);
  }
}

// Every number of the message: at its type's greatest value the record is refused by the field's name, unless it is one of
// `free`, which are only ever compared with.
void check_bounds_of_numbers(const v1::Target& record, google::protobuf::Message* part, v1::Target* whole,
                             const std::string& name, const std::set<std::string>& free) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection* reflection = part->GetReflection();
  for (int i = 0; i < part->GetDescriptor()->field_count(); ++i) {
    const Field* field = part->GetDescriptor()->field(i);
    const std::string place = name + "." + field->name();
    INFO(record.device() << " " << place);
    if (field->cpp_type() == Field::CPPTYPE_UINT32) {
      const std::uint32_t kept = reflection->GetUInt32(*part, field);
      reflection->SetUInt32(part, field, ~0u);
      if (free.contains(place)) {
        CHECK(target::check_record(*whole).ok());
      } else {
        CHECK_THAT(std::string(target::check_record(*whole).message()), Catch::StartsWith(name));
      }
      reflection->SetUInt32(part, field, kept);
    } else if (field->cpp_type() == Field::CPPTYPE_UINT64) {
      const std::uint64_t kept = reflection->GetUInt64(*part, field);
      reflection->SetUInt64(part, field, ~std::uint64_t{0});
      if (free.contains(place)) {
        CHECK(target::check_record(*whole).ok());
      } else {
        CHECK_THAT(std::string(target::check_record(*whole).message()), Catch::StartsWith(place));
      }
      reflection->SetUInt64(part, field, kept);
    } else {
      // Another kind of number would need a row of its own.
      CHECK((field->cpp_type() == Field::CPPTYPE_STRING || field->cpp_type() == Field::CPPTYPE_BOOL ||
             field->cpp_type() == Field::CPPTYPE_MESSAGE));
    }
  }
}

TEST_CASE("every number of a record that a client sends has a bound") {
  // The ABI's version is the daemon's to check (daemon/store/request_limits.h).
  const std::set<std::string> free = {"target.abi_version", "target.gpu.max_buffer_bytes", "target.gpu.max_loop_rounds",
                                      "target.gpu.max_invocation_ms"};
  for (const char* name : {"cpu:x86-64-v3", "vulkan:lavapipe", "cuda:sm_90", "hip:gfx942"}) {
    const v1::Target record = known_record(name);
    v1::Target changed = record;
    check_bounds_of_numbers(record, &changed, &changed, "target", free);
    if (!record.has_gpu()) continue;
    check_bounds_of_numbers(record, changed.mutable_gpu(), &changed, "target.gpu", free);
    if (!record.gpu().has_cooperative_matrix()) continue;
    for (v1::CooperativeMatrix* matrix : {changed.mutable_gpu()->mutable_cooperative_matrix(),
                                          changed.mutable_gpu()->mutable_cooperative_byte_matrix()}) {
      if (matrix->m() > 0) check_bounds_of_numbers(record, matrix, &changed, "target.gpu.cooperative", free);
    }
  }
}

TEST_CASE("numbers that are only compared with end no compile early or late") {
  conformance::GraphBuilder b;
  b.output(b.op(v1::EXP, {b.input(v1::F32, {b.var("n", 1, 64), 64})}));
  v1::Target target = known_record("vulkan:lavapipe");
  target.mutable_gpu()->set_max_buffer_bytes(~std::uint64_t{0});
  target.mutable_gpu()->set_max_loop_rounds(~std::uint64_t{0});
  target.mutable_gpu()->set_max_invocation_ms(~0u);
  CHECK(compiler::lower(b.graph(), target, v1::CompileOptions()).status() == absl::OkStatus());
}

TEST_CASE(
    "a buffer beyond the device's, or more units than a launch has, is refused by name before anything is compiled") {
  conformance::GraphBuilder b;
  b.output(b.op(v1::EXP, {b.input(v1::F32, {b.var("n", 1, 65'537), 65'536})}));
  v1::Target target = known_record("vulkan:lavapipe");
  const absl::Status large = compiler::lower(b.graph(), target, v1::CompileOptions()).status();
  CHECK(absl::IsInvalidArgument(large));
  CHECK_THAT(std::string(large.message()),
             Contains("input 'in0' takes 17180131328 bytes") && Contains("vulkan:lavapipe at most 2147483648"));
  target.mutable_gpu()->set_max_buffer_bytes(std::uint64_t{1} << 40);
  const absl::Status many = compiler::lower(b.graph(), target, v1::CompileOptions()).status();
  CHECK(absl::IsInvalidArgument(many));
  CHECK_THAT(std::string(many.message()), Contains("has 4295032832 units") && Contains("at most 4294967296"));
  CHECK(compiler::lower(b.graph(), known_record("cpu:x86-64-v3"), v1::CompileOptions()).ok());
}

}  // namespace
}  // namespace hearth
