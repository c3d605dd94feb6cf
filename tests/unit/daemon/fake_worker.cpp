// A hearth-worker whose compiler is a puppet: node names of the graph tell it what to do.
//   node "kernel:NAME"   the plan gets a kernel with that symbol
//   node "lower:NAME"    lowering itself acts on NAME
// The stem of a blob is such a NAME too; its source names headers, one "include PATH" a line, that are looked for in
// the folders of -I. The blob is the text of them all. The "compiler" is the file HEARTH_BLOB_CXX.
// A NAME that starts with one of these words acts when lowered or compiled: crash, kill, abort, stack, hang, spin,
// memory, exit, garbage, forge, throw, error, slow (0.3 s), huge (writes a large file), trial (a broken shared
// library), program (starts programs that never end), eater (starts one that takes all memory).
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/sha256.h"
#include "daemon/worker/worker_loop.h"
#include "proto/versions.h"

namespace {

namespace v1 = hearth::v1;

bool starts_with(const std::string& name, const char* word) { return name.rfind(word, 0) == 0; }

// What the tuner sees of kernel NAME: one unroll of which the heuristic takes 4 and 7 is fastest. Candidate 6 crashes
// its worker when NAME starts with "badcode" (compiling it) or "badrun" (timing it).
constexpr std::int64_t kHeuristic = 4, kFastest = 7, kBad = 6;

std::string flat_of(const std::string& symbol) { return "(flat " + symbol + ")"; }

std::int64_t amount_of(const google::protobuf::RepeatedPtrField<v1::Opt>& opts) {
  return opts.empty() ? 0 : opts.Get(0).amount();
}

void set_amount(google::protobuf::RepeatedPtrField<v1::Opt>* opts, std::int64_t amount) {
  v1::Opt& opt = *opts->Add();
  opt.set_kind(v1::Opt::UNROLL);
  opt.set_amount(amount);
}

double time_of(std::int64_t amount) {
  return 100 + 10 * static_cast<double>(amount > kFastest ? amount - kFastest : kFastest - amount);
}

// Ends only by running out of stack: the bound is out of reach.
int overflow_stack(int depth) {
  volatile char page[4096];
  page[0] = static_cast<char>(depth);
  if (depth == 1 << 30) return depth;
  return overflow_stack(depth + 1) + page[0];
}

absl::Status act(const std::string& name) {
  using namespace std::chrono_literals;
  if (starts_with(name, "crash")) ::raise(SIGSEGV);
  if (starts_with(name, "kill")) ::raise(SIGKILL);
  if (starts_with(name, "abort")) std::abort();
  if (starts_with(name, "stack")) overflow_stack(0);
  if (starts_with(name, "exit")) ::_exit(7);
  if (starts_with(name, "throw")) throw std::runtime_error("thrown on purpose");
  if (starts_with(name, "error")) return absl::InvalidArgumentError("node 0 (INPUT): refused on purpose");
  if (starts_with(name, "slow")) std::this_thread::sleep_for(starts_with(name, "slower") ? 1500ms : 300ms);
  if (starts_with(name, "hang")) std::this_thread::sleep_for(1h);
  if (starts_with(name, "spin")) {
    static volatile bool spinning = true;  // volatile: a loop without an effect may be taken for one that ends
    while (spinning) {
    }
  }
  if (starts_with(name, "memory")) {
    std::vector<char*> kept;
    for (;;) {
      kept.push_back(static_cast<char*>(std::malloc(16 << 20)));
      if (kept.back() == nullptr) throw std::bad_alloc();
      std::memset(kept.back(), 1, 16 << 20);
    }
  }
  if (starts_with(name, "huge")) {
    std::ofstream file(std::string(std::getenv("TMPDIR")) + "/huge");
    const std::string block(1 << 20, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size()))) {
    }
    return absl::ResourceExhaustedError("the file did not fit");
  }
  // A shell, its child and an orphan, as drivers and their passes are.
  if (starts_with(name, "program")) {
    const std::string number = name.substr(std::min(name.find_last_not_of("0123456789") + 1, name.size()));
    std::system(("(sleep 3600." + number + " &) ; sleep 3601." + number).c_str());
  }
  if (starts_with(name, "eater")) std::system("tail /dev/full");
  if (starts_with(name, "garbage")) {
    const std::string frame = std::string("\x05\0\0\0", 4) + "\xff\xff\xff\xff\xff";
    ::send(3, frame.data(), frame.size(), 0);
  }
  if (starts_with(name, "forge")) {
    ::send(3, "\xff\xff\xff\xff", 4, 0);
  }
  return absl::OkStatus();
}

class FakeBackend : public hearth::daemon::CompilerBackend {
 public:
  absl::StatusOr<v1::LoweredPlan> lower(const v1::WorkerRequest& request) override {
    const v1::Graph& graph = request.lower();
    const v1::Target& target = request.target();
    const v1::CompileOptions& options = request.options();
    v1::LoweredPlan lowered;
    std::set<std::string> reads;
    lowered.mutable_plan()->set_version(hearth::kPlanVersion);
    *lowered.mutable_plan()->mutable_target() = target;
    for (const v1::Node& node : graph.nodes()) {
      if (starts_with(node.name(), "lower:")) {
        if (absl::Status status = act(node.name().substr(6)); !status.ok()) return status;
      }
      if (!starts_with(node.name(), "kernel:")) continue;
      const std::string symbol = node.name().substr(7);
      lowered.mutable_plan()->add_kernels()->set_symbol(symbol);
      lowered.mutable_plan()->add_launches()->set_kernel(static_cast<std::uint32_t>(lowered.plan().kernels_size() - 1));
      v1::KernelSpec& spec = *lowered.add_kernels();
      spec.set_symbol(symbol);
      spec.set_ast("(kernel " + symbol + ")");
      const std::string digest = hearth::to_bytes(hearth::sha256(flat_of(symbol)));
      v1::KernelChoice choice;
      choice.set_digest(digest);
      reads.insert(digest);
      choice.mutable_flat()->set_ast(flat_of(symbol));
      set_amount(choice.mutable_opts(), kHeuristic);
      for (const v1::TuningRecord& record : request.records()) {
        if (record.kernel() != digest) continue;
        *choice.mutable_opts() = record.opts();
        choice.set_tuned(true);
        spec.set_ast("(kernel " + symbol + " unrolled by " + std::to_string(amount_of(record.opts())) + ")");
      }
      lowered.mutable_plan()->mutable_kernels()->rbegin()->set_num_ops(1000);
      if (options.dump()) *lowered.add_choices() = choice;
      if (options.dump()) lowered.add_kernel_sources("node " + symbol);
    }
    lowered.mutable_tuning_reads()->Assign(reads.begin(), reads.end());
    if (options.dump()) lowered.add_passes()->set_name("fake lowering");
    return lowered;
  }

  absl::StatusOr<v1::CompiledKernel> compile_kernel(const v1::KernelSpec& spec, const v1::Target& target,
                                                    const v1::CompileOptions& options) override {
    if (absl::Status status = act(spec.symbol()); !status.ok()) return status;
    v1::CompiledKernel kernel;
    const bool none = target.device() == "null";
    kernel.mutable_artifact()->set_format(none ? v1::Artifact::NONE : v1::Artifact::ELF_SO);
    if (!none) kernel.mutable_artifact()->set_data("artifact of " + spec.ast() + " for " + target.triple());
    if (options.dump()) kernel.add_passes()->set_name("fake codegen");
    return kernel;
  }

  absl::StatusOr<v1::Candidate> candidate(const v1::CandidateSpec& spec, const v1::Target& target,
                                          const v1::CompileOptions& options) override {
    const std::int64_t amount = spec.has_opts() ? amount_of(spec.opts().opts()) : kHeuristic;
    if (amount == kBad && spec.kernel().ast().find("badcode") != std::string::npos) ::raise(SIGSEGV);
    v1::Candidate candidate;
    set_amount(candidate.mutable_opts(), amount);
    candidate.add_launches()->set_artifact(spec.kernel().ast() + std::to_string(amount));
    return candidate;
  }
  absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec& spec, const v1::Target& target) override {
    v1::Neighbours near;
    for (const std::int64_t step : {1, -1, 2, -2}) {
      if (const std::int64_t amount = amount_of(spec.opts()) + step; amount > 1)
        set_amount(near.add_lists()->mutable_opts(), amount);
    }
    return near;
  }
  absl::StatusOr<v1::Timing> time(const v1::TimeSpec& spec, const v1::Target& target) override {
    const std::int64_t amount = amount_of(spec.candidate().opts());
    const std::string code = spec.candidate().launches(0).artifact();
    if (amount == kBad && code.find("badrun") != std::string::npos) ::raise(SIGSEGV);
    if (std::abs(amount - kHeuristic) == 2 && code.find("badfar") != std::string::npos)
      return absl::InternalError("too far");
    if (code.find("slow") != std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    v1::Timing timing;
    for (std::uint32_t round = 0; round < spec.rounds(); ++round) {
      timing.add_baseline_ns(time_of(amount_of(spec.baseline().opts())));
      timing.add_candidate_ns(code.find("flatline") != std::string::npos ? timing.baseline_ns(0) : time_of(amount));
    }
    return timing;
  }
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class FakeBlobBackend : public FakeBackend {
 public:
  absl::StatusOr<v1::ToolchainInfo> find_toolchain(const v1::ToolchainQuery& query,
                                                   const hearth::daemon::ProgramLimits& limits) override {
    const char* compiler = std::getenv("HEARTH_BLOB_CXX");
    if (compiler == nullptr || content(compiler).empty()) return absl::NotFoundError("no compiler of " + query.kind());
    v1::ToolchainInfo info;
    info.set_compiler(compiler);
    info.set_digest(hearth::to_hex(hearth::sha256(content(compiler))));
    return info;
  }

  absl::StatusOr<v1::CompiledBlob> compile_blob(const v1::BlobSpec& spec,
                                                const hearth::daemon::ProgramLimits& limits) override {
    const absl::StatusOr<v1::ToolchainInfo> compiler = find_toolchain({}, limits);
    if (!compiler.ok()) return compiler.status();
    v1::CompiledBlob blob;
    blob.set_toolchain_digest(compiler->digest());
    std::string text = spec.stem() + ":" + read(spec.root() + "/" + spec.source(), blob);
    std::ifstream source(spec.root() + "/" + spec.source());
    for (std::string word, header; source >> word;) {
      if (word != "include" || !(source >> header)) continue;
      for (const std::string& flag : spec.flags()) {
        std::string folder = flag.substr(2);
        if (starts_with(folder, "{root}")) folder = spec.root() + folder.substr(6);
        if (!std::ifstream(folder + "/" + header)) continue;
        text += read(folder + "/" + header, blob);
        break;
      }
    }
    if (absl::Status status = act(spec.stem()); !status.ok()) return status;
    blob.mutable_artifact()->set_data(text);
    blob.set_changed_meanwhile(starts_with(spec.stem(), "changing"));
    blob.set_seconds(0.25);
    blob.set_log("a warning");
    return blob;
  }

 private:
  static std::string read(const std::string& path, v1::CompiledBlob& blob) {
    v1::BlobDependency& dependency = *blob.add_dependencies();
    dependency.set_path(path);
    dependency.set_sha256_hex(hearth::to_hex(hearth::sha256(content(path))));
    return content(path);
  }
};

}  // namespace

int main(int argc, char** argv) {
  FakeBlobBackend backend;
  return hearth::daemon::worker_main(argc, argv, backend);
}
