#include "devices.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "collectives.hpp"
#include "faults.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "scheduler.hpp"

namespace simulated_gpu {
namespace {

constexpr int kNaN = 0xFF;  // a NaN of every floating type when repeated

/// Draws a duration from 0 to that of many launches, so each possible order occurs for some seed.
std::int64_t drawn_duration() {
  switch (draw(4)) {
    case 0:
      return 0;
    case 1:
      return static_cast<std::int64_t>(draw(2'000));
    case 2:
      return static_cast<std::int64_t>(draw(30'000));
    default:
      return static_cast<std::int64_t>(draw(300'000));
  }
}

std::int64_t copy_ns(const Operation& operation) {
  const Settings& settings = machine().settings;
  return settings.kernel_ns + static_cast<std::int64_t>(static_cast<double>(operation.moved_bytes) /
                                                        settings.copy_bytes_per_ns);
}

/// Whether this stream's first operation may begin. It may have to wait for an event or an earlier
/// collective of the rank.
bool may_begin(const Operation& operation) {
  if (operation.kind == Kind::collective) {
    const Communicator& communicator = machine().communicators[operation.communicator];
    return communicator.ended[operation.rank] == operation.sequence ||
           communicator.aborted[operation.rank];
  }
  return operation.kind != Kind::wait ||
         machine().events[operation.event].done >= operation.recording;
}

void mark_torn(Operation& operation) {
  operation.torn = true;
  if (operation.kind == Kind::collective) collective_of(operation).torn = true;
}

void tear_what_it_meets(Operation& operation) {
  Machine& m = machine();
  for (int i = 0; i < m.streams_used; ++i) {
    Stream& other = m.streams[i];
    if (other.idle() || &other.head() == &operation) continue;
    Operation& running = other.head();
    if (running.phase != Phase::running) continue;
    if (operation.writes.meets(running.reads)) mark_torn(running);
    if (operation.writes.meets(running.writes)) {
      mark_torn(running);
      mark_torn(operation);
    }
  }
}

/// Hides the body's output until the operation ends.
void hide_result(Operation& operation) {
  const auto bytes = static_cast<std::size_t>(operation.writes.bytes);
  operation.result = take_memory(operation.writes.bytes);
  std::memcpy(operation.result, operation.writes.begin, bytes);
  std::memset(operation.writes.begin, kNaN, bytes);
}

int collectives_running_on(int device) {
  Machine& m = machine();
  int running = 0;
  for (int i = 0; i < m.streams_used; ++i) {
    Stream& stream = m.streams[i];
    running += !stream.idle() && stream.device == device &&
               stream.head().kind == Kind::collective && stream.head().phase == Phase::running;
  }
  return running;
}

/// Scales the remaining time of busy compute from now on.
void change_pace_of_work(int device, double factor) {
  Machine& m = machine();
  if (factor == 1 || adversarial()) return;
  for (int i = 0; i < m.streams_used; ++i) {
    Stream& stream = m.streams[i];
    if (stream.idle() || stream.device != device) continue;
    Operation& operation = stream.head();
    if (operation.phase != Phase::running || !operation.slowed_by_collectives) continue;
    const auto left = static_cast<double>(operation.end - m.cursor);
    operation.end = m.cursor + static_cast<std::int64_t>(left * factor);
  }
}

void begin(Operation& operation, int device) {
  const double slower = machine().settings.work_beside_collective;
  if (operation.kind == Kind::collective && collectives_running_on(device) == 0)
    change_pace_of_work(device, slower);
  operation.phase = Phase::running;
  tear_what_it_meets(operation);
  std::int64_t duration = 0;
  switch (operation.kind) {
    case Kind::kernel: {
      const std::int64_t waited = run_kernel(operation.call);
      duration = waited > 0 ? waited : copy_ns(operation);
      break;
    }
    case Kind::copy:
      std::memmove(operation.call.to, operation.call.from,
                   static_cast<std::size_t>(operation.writes.bytes));
      duration = copy_ns(operation);
      break;
    case Kind::set:
      std::memset(operation.call.to, static_cast<int>(operation.call.value),
                  static_cast<std::size_t>(operation.writes.bytes));
      duration = copy_ns(operation);
      break;
    case Kind::collective:
      arrive(operation);
      return;
    case Kind::wait: {
      const std::int64_t happened = machine().events[operation.event].time(operation.recording);
      duration = std::max<std::int64_t>(
          0, happened + machine().settings.event_latency_ns - operation.begin);
      break;
    }
    case Kind::record:
      break;
  }
  if (operation.slowed_by_collectives && collectives_running_on(device) > 0)
    duration = static_cast<std::int64_t>(static_cast<double>(duration) * slower);
  if (adversarial()) duration = drawn_duration();
  operation.end = operation.begin + duration * slowness_of_device(device);
  if (operation.writes.bytes > 0) hide_result(operation);
}

void end(Stream& stream) {
  Machine& m = machine();
  Operation& operation = stream.head();
  if (operation.kind == Kind::record) {
    Event& event = m.events[operation.event];
    event.time(operation.recording) = operation.end;
    if (operation.recording > event.done) {
      event.done = operation.recording;
    }
  }
  if (operation.kind == Kind::collective) finish(operation);
  if (operation.result != nullptr) {
    const auto bytes = static_cast<std::size_t>(operation.writes.bytes);
    if (operation.torn) {
      std::memset(operation.writes.begin, kNaN, bytes);
    } else {
      std::memcpy(operation.writes.begin, operation.result, bytes);
    }
    give_memory(operation.result, operation.writes.bytes);
    operation.result = nullptr;
  }
  const bool was_collective = operation.kind == Kind::collective;
  if (was_collective) {
    Communicator& communicator = m.communicators[operation.communicator];
    ++communicator.ended[operation.rank];
    communicator.ended_on[operation.rank] = operation.stream;
    communicator.ended_at[operation.rank] = operation.end;
  }
  ++stream.done;
  if (was_collective && collectives_running_on(stream.device) == 0)
    change_pace_of_work(stream.device, 1 / m.settings.work_beside_collective);
}

/// Delay after a collective on another stream, which it waits for with an event.
std::int64_t behind_collective_elsewhere(const Operation& operation) {
  if (operation.kind != Kind::collective || operation.sequence == 0) return 0;
  const Communicator& communicator = machine().communicators[operation.communicator];
  if (communicator.ended_on[operation.rank] == operation.stream) return 0;
  return communicator.ended_at[operation.rank] + machine().settings.event_latency_ns;
}

struct Next {
  Stream* stream;
  std::int64_t when;
};

Next next_of_all() {
  Machine& m = machine();
  Next next{nullptr, kNever};
  for (int i = 0; i < m.streams_used; ++i) {
    Stream& stream = m.streams[i];
    if (stream.idle()) continue;
    Operation& operation = stream.head();
    if (operation.phase == Phase::queued && may_begin(operation)) {
      operation.phase = Phase::due;
      operation.begin = std::max({m.cursor, operation.enqueued + m.settings.launch_latency_ns,
                                  behind_collective_elsewhere(operation)});
      if (adversarial()) operation.begin += drawn_duration();
    }
    if (operation.phase == Phase::queued) continue;
    const std::int64_t when = operation.phase == Phase::due ? operation.begin : operation.end;
    if (when < next.when) next = {&stream, when};
  }
  return next;
}

}  // namespace

void advance_devices(std::int64_t to) {
  const Unseen unseen;
  Machine& m = machine();
  for (Next next = next_of_all(); next.stream != nullptr && next.when <= to; next = next_of_all()) {
    m.cursor = std::max(m.cursor, next.when);
    if (next.stream->head().phase == Phase::due) {
      begin(next.stream->head(), next.stream->device);
    } else {
      end(*next.stream);
    }
  }
  m.cursor = std::max(m.cursor, to);
}

std::int64_t next_on_devices() {
  return next_of_all().when;
}

Stream* new_stream(int device) {
  Machine& m = machine();
  int place = 0;
  while (place < m.streams_used && (m.streams[place].used || !m.streams[place].idle())) ++place;
  if (place == kStreams) give_up("more than %d streams", kStreams);
  m.streams_used = std::max(m.streams_used, place + 1);
  Stream& stream = m.streams[place];
  stream.used = true;
  stream.device = device;
  stream.pid = getpid();
  tell_of_new(stream);
  return &stream;
}

void enqueue(Stream& stream, Operation operation) {
  const int most = std::min(machine().settings.queue, kQueue);
  wait_for({.where = "a launch into a full queue",
            .watched = &stream.done,
            .at_least = stream.enqueued - most + 1});
  operation.phase = Phase::queued;
  operation.enqueued = now_ns();
  operation.end = kNever;
  operation.result = nullptr;
  operation.torn = false;
  operation.caller = Call::caller();
  tell_of_launch(stream);
  stream.queue[stream.enqueued % kQueue] = operation;
  ++stream.enqueued;
}

void drain(Stream& stream) {
  wait_for({.where = "waiting for a stream", .watched = &stream.done, .at_least = stream.enqueued});
}

void drain_device(int device) {
  Machine& m = machine();
  for (int i = 0; i < m.streams_used; ++i)
    if (m.streams[i].device == device) drain(m.streams[i]);
}

void end_collectives(int communicator, int rank) {
  Machine& m = machine();
  m.communicators[communicator].aborted[rank] = true;
  for (int i = 0; i < m.streams_used; ++i) {
    Stream& stream = m.streams[i];
    if (stream.idle()) continue;
    Operation& operation = stream.head();
    if (operation.kind == Kind::collective && operation.phase == Phase::running &&
        operation.communicator == communicator && operation.rank == rank)
      operation.end = std::min(operation.end, now_ns());
  }
}

void describe_streams() {
  constexpr const char* kKinds[] = {"kernel", "copy", "set", "record", "wait", "collective"};
  Machine& m = machine();
  for (int i = 0; i < m.streams_used; ++i) {
    Stream& stream = m.streams[i];
    if (stream.idle()) continue;
    const Operation& head = stream.head();
    std::fprintf(stderr, " stream %d of process %d holds %ld, first a %s%s;", i, stream.pid,
                 static_cast<long>(stream.enqueued - stream.done),
                 kKinds[static_cast<int>(head.kind)],
                 head.phase == Phase::running ? " that runs" : "");
  }
  std::fputc('\n', stderr);
}

}  // namespace simulated_gpu
