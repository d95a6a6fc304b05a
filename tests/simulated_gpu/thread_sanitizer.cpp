#include "thread_sanitizer.hpp"

#include <map>
#include <utility>

// The sanitizer's interface; null if the program has none.
extern "C" {
[[gnu::weak]] void __tsan_acquire(void* object);
[[gnu::weak]] void __tsan_release(void* object);
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_set_fiber_name(void* fiber, const char* name);
[[gnu::weak]] void __tsan_read_range_pc(void* begin, unsigned long bytes, void* caller);
[[gnu::weak]] void __tsan_write_range_pc(void* begin, unsigned long bytes, void* caller);
[[gnu::weak]] void __tsan_ignore_thread_begin();
[[gnu::weak]] void __tsan_ignore_thread_end();
}

namespace simulated_gpu {
namespace {

/// A stream of this process as the sanitizer sees it.
struct StreamThread {
  void* fiber;
  std::int64_t told;  ///< number of operations reported
};

/// Accessed only while holding the machine.
struct Told {
  std::map<const Stream*, StreamThread> streams;
  std::map<int, std::int64_t> recordings;  ///< number of recordings for each event
};
Told& told() {
  static Told all;
  return all;
}

class AsStream {
 public:
  explicit AsStream(const StreamThread& stream) : host_(__tsan_get_current_fiber()) {
    __tsan_switch_to_fiber(stream.fiber, kOrdersNothing);
  }
  ~AsStream() { __tsan_switch_to_fiber(host_, kOrdersNothing); }
  AsStream(const AsStream&) = delete;
  AsStream& operator=(const AsStream&) = delete;

 private:
  static constexpr unsigned kOrdersNothing = 1;
  void* host_;
};

/// The address that stands for a recording. Recordings of an event use a few addresses in turn.
void* place_of(int event, std::int64_t recording) {
  constexpr std::int64_t kStep = 8;
  constexpr std::int64_t kPlaces = sizeof(Event) / kStep;
  return reinterpret_cast<std::byte*>(&machine().events[event]) + recording % kPlaces * kStep;
}

void* place_of(const Operation& operation) {
  return const_cast<Operation*>(&operation);
}

void* place_of(const Stream& stream) {
  return const_cast<Stream*>(&stream);
}

void tell_of_accesses(const Range& reads, const Range& writes, void* caller) {
  if (reads.bytes > 0)
    __tsan_read_range_pc(reads.begin, static_cast<unsigned long>(reads.bytes), caller);
  if (writes.bytes > 0)
    __tsan_write_range_pc(writes.begin, static_cast<unsigned long>(writes.bytes), caller);
}

void tell_of(const StreamThread& stream, const Operation& operation) {
  const bool records = operation.kind == Kind::record;
  if (records) told().recordings[operation.event] = operation.recording;
  const AsStream as(stream);  // the stream's thread owns nothing here
  __tsan_acquire(place_of(operation));
  if (operation.kind == Kind::wait) __tsan_acquire(place_of(operation.event, operation.recording));
  tell_of_accesses(operation.reads, operation.writes, operation.caller);
  if (records) __tsan_release(place_of(operation.event, operation.recording));
}

bool can_be_told(const Operation& operation) {
  return operation.kind != Kind::wait || told().recordings[operation.event] >= operation.recording;
}

/// Reports finished operations. They may have run in other processes, which have another sanitizer.
/// An event is reported before those that wait for it.
void tell_of_what_is_done() {
  for (bool any = true; std::exchange(any, false);) {
    for (auto& [stream, known] : told().streams) {
      for (; known.told < stream->done; ++known.told) {
        const Operation& operation = stream->queue[known.told % kQueue];
        if (!can_be_told(operation)) break;
        tell_of(known, operation);
        any = true;
      }
    }
  }
}

}  // namespace

bool thread_sanitizer_is_here() {
  return __tsan_create_fiber != nullptr;
}

Unseen::Unseen() {
  if (thread_sanitizer_is_here()) __tsan_ignore_thread_begin();
}

Unseen::~Unseen() {
  if (thread_sanitizer_is_here()) __tsan_ignore_thread_end();
}

void tell_of_new(const Stream& stream) {
  if (!thread_sanitizer_is_here()) return;
  void* const fiber = __tsan_create_fiber(0);
  __tsan_set_fiber_name(fiber, "a stream of the GPU");
  told().streams[&stream] = {fiber, stream.done};
}

void tell_of_end(const Stream& stream) {
  if (!thread_sanitizer_is_here()) return;
  tell_of_what_is_done();
  const auto known = told().streams.find(&stream);
  if (known == told().streams.end()) return;
  __tsan_destroy_fiber(known->second.fiber);
  told().streams.erase(known);
}

void tell_of_launch(const Stream& stream) {
  if (!thread_sanitizer_is_here()) return;
  tell_of_what_is_done();  // including what was in that place
  __tsan_release(place_of(stream.queue[stream.enqueued % kQueue]));
}

void tell_of_wait_for(const Stream& stream) {
  if (!thread_sanitizer_is_here()) return;
  tell_of_what_is_done();
  {
    const AsStream as(told().streams.at(&stream));
    __tsan_release(place_of(stream));
  }
  __tsan_acquire(place_of(stream));
}

void tell_of_wait_for(int event, std::int64_t recording) {
  if (!thread_sanitizer_is_here()) return;
  tell_of_what_is_done();
  __tsan_acquire(place_of(event, recording));
}

void tell_of_copy(const Range& from, const Range& to) {
  if (!thread_sanitizer_is_here()) return;
  tell_of_what_is_done();
  __tsan_ignore_thread_end();
  tell_of_accesses(from, to, __builtin_return_address(0));
  __tsan_ignore_thread_begin();
}

void tell_of_block_taken(const std::byte* block) {
  if (thread_sanitizer_is_here()) __tsan_acquire(const_cast<std::byte*>(block));
}

void tell_of_block_given(const std::byte* block) {
  if (!thread_sanitizer_is_here()) return;
  tell_of_what_is_done();
  for (const auto& [_, known] : told().streams) {
    const AsStream as(known);
    __tsan_release(const_cast<std::byte*>(block));
  }
  __tsan_release(const_cast<std::byte*>(block));
}

}  // namespace simulated_gpu
