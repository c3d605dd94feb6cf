#include "client/connection/daemon_weights.h"

#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "base/cancellation.h"
#include "base/fixed_memory.h"
#include "base/fork.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/connection/daemon_socket.h"
#include "proto/versions.h"

namespace hearth::client {
namespace {

using Clock = std::chrono::steady_clock;
using Response = v1::WeightsResponse;

constexpr std::chrono::milliseconds kAnswerLimit{2'000};
constexpr std::chrono::milliseconds kMakeLimit{30'000};
constexpr std::chrono::milliseconds kCompareLimit{30'000};  // a gigabyte takes half a second
constexpr off_t kMaxFileBytes = off_t{1} << 30;
// Most answers take less than to sleep and be woken.
constexpr std::chrono::microseconds kSpin{100};
constexpr int kRangesAtOnce = 256;  // of which a packet holds more

v1::FileRange range_of(const runtime::MappedFile& file, std::string_view bytes) {
  v1::FileRange range;
  range.set_device(file.stamp().device);
  range.set_inode(file.stamp().inode);
  range.set_size_bytes(file.stamp().size_bytes);
  range.set_modified_ns(file.stamp().modified_ns);
  range.set_changed_ns(file.stamp().changed_ns);
  range.set_offset(static_cast<std::uint64_t>(bytes.data() - file.bytes().data()));
  range.set_length(bytes.size());
  return range;
}

// Bytes whose digest is wanted, and where they are in a file that other processes may know.
struct Wanted {
  std::shared_ptr<const runtime::MappedFile> file;
  std::string_view bytes;
  std::size_t place = 0;  // in the answer
  v1::FileRange range;
};

// Nothing is believed of the file: its digest is checked by who loads it.
absl::StatusOr<std::string> read_open_file(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > kMaxFileBytes)
    return absl::DataLossError("what was given is no artifact's file");
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return absl::DataLossError("an artifact's file ended early");
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

v1::WeightsRequest request_of() {
  v1::WeightsRequest request;
  request.set_version(kWeightsVersion);
  return request;
}

}  // namespace

absl::Status DaemonWeights::connect() {
  if (socket_) return absl::OkStatus();
  HEARTH_ASSIGN_OR_RETURN(const int fd,
                          connect_to_daemon(socket_path_, std::min(deadline_, Clock::now() + kAnswerLimit), nullptr,
                                            DaemonSocket::kWeights, known_));
  socket_ = ProcessSocket(UniqueFd(fd));
  return absl::OkStatus();
}

void DaemonWeights::connect_early() {
  if (!socket_) is_untried_ = connect().ok();
}

absl::StatusOr<DaemonWeights::Answer> DaemonWeights::ask(const v1::WeightsRequest& request,
                                                         std::chrono::milliseconds patience, int file) {
  const bool was_untried = std::exchange(is_untried_, false);
  absl::StatusOr<Answer> answer = exchange(request, patience, file);
  if (answer.ok()) return answer;
  socket_.reset();
  // The daemon of then may have been followed by another one.
  if (!was_untried || absl::IsDeadlineExceeded(answer.status()) || absl::IsCancelled(answer.status())) return answer;
  answer = exchange(request, patience, file);
  if (!answer.ok()) socket_.reset();
  return answer;
}

absl::StatusOr<DaemonWeights::Answer> DaemonWeights::exchange(const v1::WeightsRequest& request,
                                                              std::chrono::milliseconds patience, int file) {
  HEARTH_RETURN_IF_ERROR(connect());
  HEARTH_RETURN_IF_ERROR(send_packet(socket_.get(), request.SerializeAsString(), file));
  const Clock::time_point give_up = std::min(deadline_, Clock::now() + patience);
  absl::StatusOr<PacketOfFiles> packet = receive_packet_of_files(socket_.get());
  for (const Clock::time_point end = Clock::now() + kSpin;
       absl::IsUnavailable(packet.status()) && Clock::now() < end;) {
    ::sched_yield();
    packet = receive_packet_of_files(socket_.get());
  }
  while (absl::IsUnavailable(packet.status())) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - Clock::now()).count();
    if (left <= 0) return absl::DeadlineExceededError("the daemon does not answer");
    pollfd entry{socket_.get(), POLLIN, 0};
    ::poll(&entry, 1, wait_slice_ms(static_cast<int>(std::min<std::int64_t>(left, 60'000))));
    if (is_cancelled()) return absl::CancelledError("the call was cancelled");
    packet = receive_packet_of_files(socket_.get());
  }
  HEARTH_RETURN_IF_ERROR(packet.status());
  Answer answer;
  if (!answer.response.ParseFromString(packet->bytes)) return absl::DataLossError("the answer cannot be read");
  if (answer.response.outcome() == Response::REFUSED) return absl::FailedPreconditionError(answer.response.message());
  answer.files = std::move(packet->files);
  return answer;
}

absl::StatusOr<std::vector<Digest>> DaemonWeights::digests(const std::vector<std::string_view>& bytes) {
  HEARTH_RETURN_IF_ERROR(connect());  // nothing is hashed for nobody
  std::vector<Digest> digests(bytes.size());
  std::vector<Wanted> in_files;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (const auto file = runtime::MappedFile::containing(bytes[i])) {
      in_files.push_back({file, bytes[i], i, range_of(*file, bytes[i])});
    } else if (const auto memory = FixedMemory::find(bytes[i])) {
      digests[i] = memory->digest();
    } else {
      digests[i] = sha256(bytes[i]);
    }
  }
  for (std::size_t begin = 0; begin < in_files.size(); begin += kRangesAtOnce) {
    const std::size_t end = std::min(in_files.size(), begin + kRangesAtOnce);
    v1::WeightsRequest find = request_of(), store = request_of();
    for (std::size_t i = begin; i < end; ++i) *find.mutable_find_digests()->add_ranges() = in_files[i].range;
    HEARTH_ASSIGN_OR_RETURN(const Answer known, ask(find, kAnswerLimit));
    for (std::size_t i = begin; i < end; ++i) {
      const int place = static_cast<int>(i - begin);
      Digest& digest = digests[in_files[i].place];
      if (place < known.response.digests_size() && known.response.digests(place).size() == digest.size()) {
        std::memcpy(digest.data(), known.response.digests(place).data(), digest.size());
        continue;
      }
      const runtime::MappedFile& file = *in_files[i].file;
      // A change in the moment of its last one could leave a file with the same times.
      const bool is_settled = files::is_settled(file.stamp());
      const absl::StatusOr<Digest> hashed = runtime::sha256_mapped(in_files[i].bytes);
      file.release(in_files[i].bytes);
      HEARTH_RETURN_IF_ERROR(hashed.status());
      digest = *hashed;
      if (!is_settled) continue;
      *store.mutable_store_digests()->add_ranges() = in_files[i].range;
      store.mutable_store_digests()->add_digests(to_bytes(digest));
    }
    if (!store.has_store_digests()) continue;
    HEARTH_RETURN_IF_ERROR(ask(store, kAnswerLimit).status());
  }
  return digests;
}

runtime::WeightOffer DaemonWeights::take(const Digest& key, std::size_t size_bytes, runtime::WeightMemory memory) {
  v1::WeightsRequest request = request_of();
  request.mutable_take()->set_key(to_bytes(key));
  request.mutable_take()->set_size_bytes(size_bytes);
  request.mutable_take()->set_on_device(memory == runtime::WeightMemory::kDevice);
  is_bound_ = true;
  absl::StatusOr<Answer> answer = ask(request, kMakeLimit);
  if (!answer.ok()) return {};
  if (answer->response.outcome() == Response::FOUND && answer->files.size() == 1) {
    return {runtime::WeightOffer::kFound, std::move(answer->files[0])};
  }
  if (answer->response.outcome() == Response::MAKE) return {runtime::WeightOffer::kMake, {}};
  socket_.reset();
  return {};
}

runtime::WeightReceipt DaemonWeights::give(int file) {
  if (!socket_) return {};
  v1::WeightsRequest request = request_of();
  request.mutable_give();
  absl::StatusOr<Answer> answer = ask(request, kCompareLimit, file);
  if (!answer.ok()) return {};
  return {true, answer->files.empty() ? UniqueFd() : std::move(answer->files[0])};
}

std::map<std::string, std::string> DaemonWeights::read_artifacts(const std::vector<std::string>& digests) {
  std::map<std::string, std::string> found;
  for (std::size_t begin = 0; begin < digests.size(); begin += kMaxPacketFiles) {
    v1::WeightsRequest request = request_of();
    const std::size_t end = std::min(digests.size(), begin + kMaxPacketFiles);
    for (std::size_t i = begin; i < end; ++i) request.mutable_open_artifacts()->add_digests(digests[i]);
    const absl::StatusOr<Answer> answer = ask(request, kAnswerLimit);
    if (!answer.ok() || answer->response.digests_size() != static_cast<int>(answer->files.size())) break;
    for (std::size_t i = 0; i < answer->files.size(); ++i) {
      absl::StatusOr<std::string> bytes = read_open_file(answer->files[i].get());
      if (bytes.ok()) found[answer->response.digests(static_cast<int>(i))] = *std::move(bytes);
    }
  }
  return found;
}

std::shared_ptr<const void> DaemonWeights::hold() {
  if (!socket_) return nullptr;
  return std::make_shared<const ProcessSocket>(std::move(socket_));
}

ProcessSocket DaemonWeights::leave() { return is_bound_ ? ProcessSocket() : std::move(socket_); }

}  // namespace hearth::client
