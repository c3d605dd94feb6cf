#include "daemon/remote/compile_leases.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/remote/remote_timer.h"

namespace hearth::daemon {
namespace {

constexpr char kLeaseDomain[] = "hearth.lease.v1", kLeaseKind[] = "lease";
constexpr std::size_t kNonceBytes = 16, kTimeBytes = 8;

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A nonce, then the seconds since 1970.
std::string new_note() {
  std::array<char, kNonceBytes + kTimeBytes> bytes{};
  (void)!::getrandom(bytes.data(), kNonceBytes, 0);
  const std::int64_t now = unix_seconds();
  std::memcpy(bytes.data() + kNonceBytes, &now, kTimeBytes);
  return {bytes.data(), bytes.size()};
}

// A lease of a moment ago; clocks that are far apart make it none.
bool is_fresh(const std::string& note) {
  if (note.size() != kNonceBytes + kTimeBytes) return false;
  std::int64_t written = 0;
  std::memcpy(&written, note.data() + kNonceBytes, kTimeBytes);
  const std::int64_t now = unix_seconds(), limit = CompileLeases::kOldAfter.count();
  return written <= now + limit && written >= now - limit;
}

}  // namespace

class CompileLeases::Lease : public std::enable_shared_from_this<Lease> {
 public:
  Lease(CompileLeases* owner, RemoteServer* server, const EntryKey& wanted, Waiter waiter)
      : owner_(*owner), server_(*server), note_(new_note()), waiter_(std::move(waiter)) {
    EntryKey lease = wanted;
    lease.domain = kLeaseDomain;
    lease.kind = kLeaseKind;
    action_ = BlobReference::of(address_of(lease).action);
  }
  ~Lease() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.under_way_.erase(this);
    if (--owner_.alive_ == 0) owner_.none_left_.notify_all();
  }

  void begin() {
    read([self = shared_from_this(), seen = owner_.clock_.now()](const absl::StatusOr<std::string>& note) {
      if (absl::IsNotFound(note.status()) || (note.ok() && !is_fresh(*note))) return self->write(seen);
      if (!note.ok()) return self->end(true);
      self->wait(*note);
    });
  }

  void end(bool compiles) {
    std::function<void(bool)> ended;
    std::optional<RemoteTimer> timer, limit;
    Waiter waiter;
    {
      const std::lock_guard lock(mutex_);
      waiter = std::exchange(waiter_, {});
      turn_.reset();
      timer_.swap(timer);
      limit_.swap(limit);
    }
    if (waiter.ended) waiter.ended(compiles);
  }

  // When it looks next; nothing where it does not wait for that.
  std::optional<Clock::time_point> turn() {
    const std::lock_guard lock(mutex_);
    return turn_;
  }
  void look() {
    std::function<void(std::function<void(bool)>)> look_up;
    bool is_over = false;
    {
      const std::lock_guard lock(mutex_);
      if (!std::exchange(turn_, std::nullopt)) return;  // it was looked for meanwhile
      look_up = waiter_.look_up;
      is_over = owner_.clock_.now() - since_ > kPatience;
    }
    if (!look_up) return;
    expect_answer();
    look_up([self = shared_from_this(), is_over](bool is_there) {
      self->answered();
      if (is_there) {
        self->end(false);
        return self->owner_.look_for_next();
      }
      is_over ? self->look_at_lease() : self->look_later();
    });
  }

 private:
  using Note = std::function<void(const absl::StatusOr<std::string>&)>;

  void read(Note then) {
    expect_answer();
    server_.endpoint().get_note(action_, [self = shared_from_this(), then = std::move(then)](const auto& note) {
      self->answered();
      then(note);
    });
  }

  void write(Clock::time_point seen) {
    expect_answer();
    server_.endpoint().put_note(action_, note_, [self = shared_from_this(), seen](const absl::Status& status) {
      self->answered();
      if (!status.ok()) return self->end(true);
      // Whoever found none either and is as slow as this node has written its own by then.
      const auto took = std::chrono::ceil<std::chrono::milliseconds>(self->owner_.clock_.now() - seen);
      self->after(std::clamp(took, kReadBackAfter, kAnswerWithin), [self] { self->read_back(); });
    });
  }

  void read_back() {
    read([self = shared_from_this()](const absl::StatusOr<std::string>& note) {
      if (!note.ok() || *note == self->note_) return self->end(true);
      self->wait(*note);
    });
  }

  // Somebody else compiles.
  void wait(const std::string& note) {
    std::function<void()> waits;
    {
      const std::lock_guard lock(mutex_);
      theirs_ = note;
      since_ = owner_.clock_.now();
      if (!std::exchange(is_waiting_, true)) waits = waiter_.waits;
    }
    if (waits) waits();
    look_later();
  }

  void look_later() {
    std::chrono::milliseconds wait{};
    {
      const std::lock_guard lock(mutex_);
      wait = next_look_;
      next_look_ = std::min(2 * next_look_, kLastLook);
    }
    const Clock::time_point turn = owner_.turn_after(wait);
    {
      const std::lock_guard lock(mutex_);
      turn_ = turn;
    }
    after(std::chrono::ceil<std::chrono::milliseconds>(turn - owner_.clock_.now()),
          [self = shared_from_this()] { self->look(); });
  }

  // It has stood for long: whoever wrote it is gone, unless another one has come since. Of all who wait one takes it over.
  void look_at_lease() {
    read([self = shared_from_this(), seen = owner_.clock_.now()](const absl::StatusOr<std::string>& note) {
      if (!note.ok()) return self->end(true);
      self->is_same(*note) ? self->write(seen) : self->wait(*note);
    });
  }

  bool is_same(const std::string& note) {
    const std::lock_guard lock(mutex_);
    return note == theirs_;
  }

  void after(std::chrono::milliseconds wait, std::function<void()> then) {
    const std::lock_guard lock(mutex_);
    if (waiter_.ended) timer_.emplace(wait, std::move(then));
  }

  // A call begins, whose answer is not waited for longer than that; then answered().
  void expect_answer() {
    const std::lock_guard lock(mutex_);
    if (!waiter_.ended) return;
    limit_.emplace(kAnswerWithin, [weak = weak_from_this()] {
      if (const std::shared_ptr<Lease> lease = weak.lock()) lease->end(true);
    });
  }
  void answered() {
    std::optional<RemoteTimer> limit;
    const std::lock_guard lock(mutex_);
    limit_.swap(limit);
  }

  CompileLeases& owner_;
  RemoteServer& server_;
  BlobReference action_;
  const std::string note_;
  std::mutex mutex_;
  Waiter waiter_;  // empty once it has ended
  std::optional<RemoteTimer> timer_, limit_;
  std::string theirs_;  // the lease that stands, since when
  Clock::time_point since_{};
  std::optional<Clock::time_point> turn_;
  std::chrono::milliseconds next_look_ = kFirstLook;
  bool is_waiting_ = false;
};

CompileLeases::~CompileLeases() {
  std::unique_lock lock(mutex_);
  none_left_.wait(lock, [this] { return alive_ == 0; });
}

Clock::time_point CompileLeases::turn_after(std::chrono::milliseconds wait) {
  const Clock::duration apart = kPace * answer_time_();
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = clock_.now(), turn = std::max(now + wait, next_look_);
  next_look_ = std::min(turn + apart, now + kLatestLook);
  return turn;
}

void CompileLeases::look_for_next() {
  std::vector<std::shared_ptr<Lease>> leases;
  {
    const std::lock_guard lock(mutex_);
    for (Lease* lease : under_way_) {
      if (std::shared_ptr<Lease> alive = lease->weak_from_this().lock()) leases.push_back(std::move(alive));
    }
  }
  Lease* next = nullptr;
  std::optional<Clock::time_point> first;
  for (const std::shared_ptr<Lease>& lease : leases) {
    const std::optional<Clock::time_point> turn = lease->turn();
    if (!turn || (first && *first <= *turn)) continue;
    next = lease.get();
    first = turn;
  }
  if (next != nullptr) next->look();
}

void CompileLeases::begin(const EntryKey& wanted, Waiter waiter) {
  RemoteServer* server = server_();
  std::shared_ptr<Lease> lease;
  if (server != nullptr) {
    const std::lock_guard lock(mutex_);
    if (!has_ended_) {
      ++alive_;
      lease = std::make_shared<Lease>(this, server, wanted, std::move(waiter));
      under_way_.insert(lease.get());
    }
  }
  if (!lease) return waiter.ended(true);
  lease->begin();
}

void CompileLeases::end() {
  std::vector<std::shared_ptr<Lease>> leases;
  std::unique_lock lock(mutex_);
  has_ended_ = true;
  for (Lease* lease : under_way_) {
    if (std::shared_ptr<Lease> alive = lease->weak_from_this().lock()) leases.push_back(std::move(alive));
  }
  lock.unlock();
  for (const std::shared_ptr<Lease>& lease : leases) lease->end(true);
  leases.clear();
}

}  // namespace hearth::daemon
