// What ThreadSanitizer must know of gRPC, which Debian builds without it: it sees neither gRPC's locks nor its atomics,
// so every step from one of gRPC's threads to another looks unordered. Instead of silencing what stands above gRPC in a
// stack, this file states the order that gRPC promises, and no more, by taking the place of a few of its functions:
//   an operation's start              comes before its completion
//   a server's start                  comes before its handlers
//   what a call does                  comes before its OnDone, which comes before its server's Shutdown returns
// and what absl does for code in headers: its mutex, and the count of a status's holders. Two calls are not ordered by
// it, so what they share without a lock is reported. For executables under tsan only (hearth_orders_grpc in
// cmake/hearth.cmake); knows gRPC 1.51's headers.
#include <absl/status/status.h>
#include <absl/synchronization/mutex.h>
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpcpp/impl/codegen/server_callback.h>
#include <grpcpp/support/callback_common.h>
#include <sanitizer/tsan_interface.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace {

char server_began, call_ended;            // addresses that stand for the two orders that have no object of their own
thread_local bool after_on_done = false;  // this thread is where gRPC lets go of a call whose OnDone has run
thread_local grpc_completion_queue* shutdown_queue = nullptr;  // the queue that this thread's Server::Shutdown waits on

template <class Function>
Function* original(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "grpc_edges_tsan: gRPC has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

// Found before main, since a variable that is initialized by the first caller would order that caller and all others.
const auto start_batch = original<decltype(grpc_call_start_batch)>("grpc_call_start_batch");
const auto arena_alloc = original<decltype(grpc_call_arena_alloc)>("grpc_call_arena_alloc");
const auto call_unref = original<decltype(grpc_call_unref)>("grpc_call_unref");
const auto queue_next = original<decltype(grpc_completion_queue_next)>("grpc_completion_queue_next");
const auto queue_pluck = original<decltype(grpc_completion_queue_pluck)>("grpc_completion_queue_pluck");
const auto server_start = original<decltype(grpc_server_start)>("grpc_server_start");
const auto server_destroy = original<decltype(grpc_server_destroy)>("grpc_server_destroy");
const auto server_shutdown = original<decltype(grpc_server_shutdown_and_notify)>("grpc_server_shutdown_and_notify");
const auto queue_destroy = original<decltype(grpc_completion_queue_destroy)>("grpc_completion_queue_destroy");
const auto request_registered_call =
    original<decltype(grpc_server_request_registered_call)>("grpc_server_request_registered_call");
const auto mutex_lock = original<void(absl::Mutex*)>("_ZN4absl7debian35Mutex4LockEv");
const auto mutex_unlock = original<void(absl::Mutex*)>("_ZN4absl7debian35Mutex6UnlockEv");
const auto status_unref = original<void(std::uintptr_t)>("_ZN4absl7debian36Status15UnrefNonInlinedEm");

// The address of a private member: an explicit instantiation may name it.
using Run = void(grpc_completion_queue_functor*, int);
template <class Tag>
Run* static_run;
template <class Tag, Run* kRun>
struct Reach {
  static inline const bool kDone = (static_run<Tag> = kRun) != nullptr;
};
template struct Reach<grpc::internal::CallbackWithSuccessTag, &grpc::internal::CallbackWithSuccessTag::StaticRun>;
template struct Reach<grpc::internal::CallbackWithStatusTag, &grpc::internal::CallbackWithStatusTag::StaticRun>;

template <class Tag>
void run_ordered(grpc_completion_queue_functor* functor, int ok) {
  __tsan_acquire(functor);
  static_run<Tag>(functor, ok);
}

template <class Tag>
void order_completion(grpc_completion_queue_functor* functor) {
  if (functor->functor_run == static_run<Tag>) functor->functor_run = &run_ordered<Tag>;
}

}  // namespace

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, std::size_t num_ops, void* tag,
                                      void* reserved) {
  if (tag != nullptr) {
    // Tags of the callback API begin with the function to run; the others begin with a vtable, which is neither.
    auto* functor = static_cast<grpc_completion_queue_functor*>(tag);
    order_completion<grpc::internal::CallbackWithSuccessTag>(functor);
    order_completion<grpc::internal::CallbackWithStatusTag>(functor);
    __tsan_release(tag);
  }
  return start_batch(call, ops, num_ops, tag, reserved);
}

grpc_call_error grpc_server_request_registered_call(grpc_server* server, void* method, grpc_call** call,
                                                    gpr_timespec* deadline, grpc_metadata_array* metadata,
                                                    grpc_byte_buffer** payload, grpc_completion_queue* bound,
                                                    grpc_completion_queue* notification, void* tag) {
  __tsan_release(tag);
  return request_registered_call(server, method, call, deadline, metadata, payload, bound, notification, tag);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  __tsan_release(&call_ended);  // a thread that waits for the next call is done with the one before
  const grpc_event event = queue_next(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag, gpr_timespec deadline, void* reserved) {
  const grpc_event event = queue_pluck(queue, tag, deadline, reserved);
  __tsan_acquire(tag);
  return event;
}

void grpc_server_start(grpc_server* server) {
  __tsan_release(&server_began);
  server_start(server);
}

// The first that a thread does for a call of the callback API.
void* grpc_call_arena_alloc(grpc_call* call, std::size_t size) {
  __tsan_acquire(&server_began);
  return arena_alloc(call, size);
}

// A server may be gone as soon as it has lost its last call.
void grpc_call_unref(grpc_call* call) {
  if (after_on_done) __tsan_release(&call_ended);
  call_unref(call);
}

void grpc_server_shutdown_and_notify(grpc_server* server, grpc_completion_queue* queue, void* tag) {
  shutdown_queue = queue;
  server_shutdown(server, queue, tag);
}

// The last that Server::Shutdown does, after it has waited for every call, is to destroy its queue. Server's destructor
// frees the handlers of the health service before it calls grpc_server_destroy.
void grpc_completion_queue_destroy(grpc_completion_queue* queue) {
  if (queue == shutdown_queue) {
    shutdown_queue = nullptr;
    __tsan_acquire(&call_ended);
  }
  queue_destroy(queue);
}

void grpc_server_destroy(grpc_server* server) {
  __tsan_acquire(&call_ended);
  server_destroy(server);
}

}  // extern "C"

namespace absl {

// Ours alone (own_std.map): what is locked inside the libraries stays unseen, since it would order calls by accident.
void Mutex::Lock() {
  __tsan_mutex_pre_lock(this, __tsan_mutex_linker_init);
  mutex_lock(this);
  __tsan_mutex_post_lock(this, __tsan_mutex_linker_init, 0);
}

void Mutex::Unlock() {
  __tsan_mutex_pre_unlock(this, 0);
  mutex_unlock(this);
  __tsan_mutex_post_unlock(this, 0);
}

// Each holder that lets go comes before the one that frees. The lock keeps the order told the order counted, and is
// itself unseen.
__attribute__((no_sanitize("thread"))) void Status::UnrefNonInlined(std::uintptr_t rep) {
  static char locked = 0;
  while (__atomic_test_and_set(&locked, __ATOMIC_ACQUIRE)) sched_yield();
  __tsan_release(reinterpret_cast<void*>(rep));
  __tsan_acquire(reinterpret_cast<void*>(rep));
  status_unref(rep);
  __atomic_clear(&locked, __ATOMIC_RELEASE);
}

}  // namespace absl

namespace grpc::internal {

// As gRPC's own, but on a thread whose start ThreadSanitizer sees, instead of on one of gRPC's executor.
void ServerCallbackCall::ScheduleOnDone(bool inline_ondone) {
  __tsan_acquire(&callbacks_outstanding_);  // which gRPC's own part of the call may have been the last to lower
  auto run = [this] {
    const bool within = std::exchange(after_on_done, true);
    CallOnDone();
    after_on_done = within;
    __tsan_release(&call_ended);
  };
  if (inline_ondone) return run();
  std::thread(run).detach();
}

void ServerCallbackCall::CallOnCancel(ServerReactor* reactor) {
  __tsan_acquire(&on_cancel_conditions_remaining_);
  if (reactor->InternalInlineable()) return reactor->OnCancel();
  Ref();  // the call stays until OnCancel has returned
  std::thread([this, reactor] {
    reactor->OnCancel();
    MaybeDone();
  }).detach();
}

}  // namespace grpc::internal
