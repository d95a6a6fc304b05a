#include "chunk_waves.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"
#include "steady_state.hpp"

namespace ddpsim {

ChunkWaves::ChunkWaves(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings,
                       const std::vector<bool>& held_back)
    : shape_(*pipeline.shape),
      chunks_(pipeline.chunks),
      later_(static_cast<std::uint32_t>(shape_.dependency)),
      hops_(shape_.hops.size()) {
  for (std::size_t h = 0; h < hops_.size(); ++h) {
    HopState& hop = hops_[h];
    hop.deliver = timings[h].send + timings[h].latency;
    hop.again = pipeline.rendezvous ? hop.deliver : timings[h].send;
    hop.waits_for = shape_.hops[h].waits_for.count;
    if (held_back[h]) hop.role = Role::held_back;
  }
  mark_free_channels(pipeline, timings);
  if (shape_.dependency == ChunkDependency::same) find_lines();
  find_runs();
}

/// Marks hops that are not connected to a hop that may be held back.
void ChunkWaves::mark_free_channels(const ChunkPipeline& pipeline,
                                    const std::vector<HopTiming>& timings) {
  std::vector<std::uint32_t> open;
  const auto bind = [&](std::uint32_t hop) {
    if (hops_[hop].role != Role::free_channel) return;
    hops_[hop].role = Role::member;
    open.push_back(hop);
  };
  for (std::uint32_t hop = 0; hop < hops_.size(); ++hop)
    if (hops_[hop].role == Role::held_back) open.push_back(hop);
  while (!open.empty()) {
    const Hop& hop = shape_.hops[open.back()];
    open.pop_back();
    for (const std::uint32_t other : shape_.list(hop.feeds)) bind(other);
    for (const std::uint32_t other : shape_.list(hop.waits_for)) bind(other);
  }
  std::vector<std::uint32_t> free;
  for (std::uint32_t hop = 0; hop < hops_.size(); ++hop)
    if (hops_[hop].role == Role::free_channel) free.push_back(hop);
  free_duration_ = uncontended_end(pipeline, timings, std::move(free));
}

/// Relies on the order of hops: each comes after the hops it waits for.
void ChunkWaves::find_lines() {
  for (std::uint32_t h = 0; h < hops_.size(); ++h) {
    HopState& hop = hops_[h];
    if (hop.role == Role::free_channel) continue;
    hop.lines.first = static_cast<std::uint32_t>(lines_.size());
    for (const std::uint32_t other : shape_.list(shape_.hops[h].waits_for)) {
      const HopState& before = hops_[other];
      if (before.role == Role::line)
        lines_.push_back({before.line.first + before.deliver, before.line.again});
    }
    const std::span<const Line> arriving = std::span(lines_).subspan(hop.lines.first);
    hop.lines.count = static_cast<std::uint32_t>(arriving.size());
    hop.waits_for -= hop.lines.count;
    const bool one_pace = std::ranges::all_of(
        arriving, [&](const Line& line) { return line.again == arriving[0].again; });
    if (hop.role == Role::held_back || hop.waits_for > 0 || !one_pace) continue;
    hop.role = Role::line;
    hop.line = {.first = {}, .again = hop.again};
    for (const Line& line : arriving)
      hop.line = {std::max(hop.line.first, line.first), std::max(hop.line.again, line.again)};
  }
}

void ChunkWaves::find_runs() {
  std::uint32_t meetings = 0;
  for (std::uint32_t h = 0; h < hops_.size(); ++h) {
    HopState& hop = hops_[h];
    if (hop.role == Role::free_channel || hop.role == Role::line) continue;
    if (hop.waits_for > 1) hop.meeting = meetings++;
    if (hop.role == Role::held_back) continue;
    const std::span<const std::uint32_t> one = shape_.list(shape_.hops[h].waits_for);
    if (one.size() != 1 || !carries_on(one[0], h)) hop.role = Role::first;
  }
  meetings_.resize(meetings);
  for (std::uint32_t h = 0; h < hops_.size(); ++h)
    if (hops_[h].role == Role::first) collect_run(h);
}

/// Whether `next`, which waits only for `hop`, can belong to its run: it never waits for its own
/// previous chunk.
bool ChunkWaves::carries_on(std::uint32_t hop, std::uint32_t next) const {
  const HopState& one = hops_[hop];
  return (one.role == Role::first || one.role == Role::member) &&
         hops_[next].role == Role::member && hops_[next].again == one.again;
}

void ChunkWaves::collect_run(std::uint32_t first) {
  const auto place = static_cast<std::uint32_t>(runs_.size());
  HopRun run{.first = first,
             .next = {},
             .exits = {static_cast<std::uint32_t>(exits_.size()), 0},
             .reaches = {static_cast<std::uint32_t>(reaches_.size()), 0}};
  struct Step {
    std::uint32_t hop;
    std::uint32_t steps;
    Duration leaves;
  };
  std::vector<Step> open{{first, 0, {}}};
  while (!open.empty()) {
    const Step step = open.back();
    open.pop_back();
    hops_[step.hop].run = place;
    const Duration delivered = step.leaves + hops_[step.hop].deliver;
    if (later_ > 0 || step.hop == first) reaches_.push_back(delivered);
    reaches_.back() = std::max(reaches_.back(), delivered);
    for (const std::uint32_t next : shape_.list(shape_.hops[step.hop].feeds)) {
      if (hops_[next].role == Role::member) {
        open.push_back({next, step.steps + 1, delivered});
      } else {
        exits_.push_back({next, step.steps + 1, delivered});
      }
    }
  }
  run.exits.count = static_cast<std::uint32_t>(exits_.size()) - run.exits.first;
  run.reaches.count = static_cast<std::uint32_t>(reaches_.size()) - run.reaches.first;
  runs_.push_back(run);
}

void ChunkWaves::begin(TimePoint now) {
  arrivals_.clear();
  begin_ = now;
  end_ = now + free_duration_;
  if (chunks_ == 0) return;
  incomplete_ = runs_.size();
  for (HopRun& run : runs_) run.next = now;
  for (const HopState& hop : hops_) {
    if (hop.role == Role::held_back) ++incomplete_;
    if (hop.role == Role::line)
      reach(begin_ + hop.line.first + hop.line.again * (chunks_ - 1) + hop.deliver);
  }
  if (shape_.dependency == ChunkDependency::previous) {
    begin_rings();
  } else {
    begin_same();
  }
}

/// Goes chunk by chunk, so that only few chunks wait at a meeting.
void ChunkWaves::begin_same() {
  std::vector<std::uint32_t> sources;
  for (std::uint32_t h = 0; h < hops_.size(); ++h) {
    const HopState& hop = hops_[h];
    if ((hop.role == Role::held_back || hop.role == Role::first) && hop.waits_for == 0)
      sources.push_back(h);
  }
  for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk)
    for (const std::uint32_t hop : sources) {
      waiting_.push_back({hop, chunk, begin_});
      spread();
    }
}

/// Every hop sends a chunk of its own. Hops nearest to the ends of the ways come first, so that
/// their chunks have left when others arrive.
void ChunkWaves::begin_rings() {
  for (std::uint32_t end = 0; end < hops_.size(); ++end) {
    if (hops_[end].role != Role::held_back) continue;
    arrivals_.push_back({end, begin_});
    ++hops_[end].known;
    std::uint32_t hop = before(end);
    while (hops_[hop].role != Role::held_back) {
      const HopRun& run = runs_[hops_[hop].run];
      begin_within(run);
      waiting_.push_back({run.first, 0, begin_});
      spread();
      hop = before(run.first);
    }
  }
}

/// Sends the own chunks of all hops of a ring's run except the first.
void ChunkWaves::begin_within(const HopRun& run) {
  const std::span<const Duration> reaches =
      std::span(reaches_).subspan(run.reaches.first, run.reaches.count);
  const Exit& exit = exits_[run.exits.first];
  for (std::uint32_t from = run.reaches.count; from-- > 1;) {
    if (chunks_ - 1 < run.reaches.count - from)
      reach(begin_ + (reaches[from + chunks_ - 1] - reaches[from - 1]));
    feed(exit.to, exit.steps - from, begin_ + (exit.after - reaches[from - 1]));
    spread();
  }
}

std::uint32_t ChunkWaves::before(std::uint32_t hop) const {
  const std::span<const std::uint32_t> one = shape_.list(shape_.hops[hop].waits_for);
  DDPSIM_ASSERT(one.size() == 1, "a hop of a ring does not wait for one", hop, one.size());
  return one.front();
}

void ChunkWaves::delivered(std::uint32_t hop, std::uint32_t chunk, TimePoint now) {
  arrivals_.clear();
  if (chunk + 1 == chunks_) {
    --incomplete_;
    reach(now);
  }
  for (const std::uint32_t next : shape_.list(shape_.hops[hop].feeds))
    feed(next, chunk + later_, now);
  spread();
}

void ChunkWaves::feed(std::uint32_t hop, std::uint32_t chunk, TimePoint time) {
  if (chunk < chunks_) waiting_.push_back({hop, chunk, time});
}

void ChunkWaves::spread() {
  while (!waiting_.empty()) {
    Wave wave = waiting_.back();
    waiting_.pop_back();
    HopState& hop = hops_[wave.hop];
    if (hop.meeting != kNone && !met(hop, wave)) continue;
    DDPSIM_ASSERT(wave.chunk == hop.known, "a chunk overtakes another", wave.chunk, hop.known);
    ++hop.known;
    for (const Line& line : std::span(lines_).subspan(hop.lines.first, hop.lines.count))
      wave.time = std::max(wave.time, begin_ + line.first + line.again * wave.chunk);
    if (hop.role == Role::held_back) {
      arrivals_.push_back({wave.hop, wave.time});
    } else {
      pass(runs_[hop.run], wave.chunk, wave.time);
    }
  }
}

void ChunkWaves::pass(HopRun& run, std::uint32_t chunk, TimePoint arrival) {
  const TimePoint leave = std::max(run.next, arrival);
  run.next = leave + hops_[run.first].again;
  // The number of steps after which this chunk is a hop's last one.
  const std::uint32_t last = chunks_ - 1 - chunk;
  if (last < run.reaches.count) reach(leave + reaches_[run.reaches.first + last]);
  if (last == 0) --incomplete_;
  for (const Exit& exit : std::span(exits_).subspan(run.exits.first, run.exits.count))
    feed(exit.to, chunk + later_ * exit.steps, leave + exit.after);
}

/// Whether the chunk now has everything it waits for. If so, the wave gets the time of the latest
/// arrival.
bool ChunkWaves::met(const HopState& hop, Wave& wave) {
  std::deque<Meeting>& meetings = meetings_[hop.meeting];
  const std::size_t place = wave.chunk - hop.known;
  if (place == meetings.size()) meetings.push_back({wave.time, hop.waits_for});
  Meeting& meeting = meetings[place];
  meeting.latest = std::max(meeting.latest, wave.time);
  if (--meeting.missing > 0) return false;
  wave.time = meeting.latest;
  meetings.pop_front();
  return true;
}

void ChunkWaves::reach(TimePoint time) {
  end_ = std::max(end_, time);
}

}  // namespace ddpsim
