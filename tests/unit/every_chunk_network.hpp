// Chunk pipelines on shared links, every chunk of every hop an event: what FlowNetwork is held against.
//
// It knows one shortcut: a hop whose links carry everything that may ever be sent over them takes a
// known time. Even there each chunk waits in the queue for its turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ddpsim/sim/engine/event_queue.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "flow_network.hpp"
#include "max_min.hpp"
#include "network_links.hpp"

namespace ddpsim {

class EveryChunkNetwork {
 public:
  EveryChunkNetwork(const NetworkLinks& links, std::vector<NetworkJob> jobs);

  /// Starts pipeline `pipeline` of a job without recurrence. Precondition: the job is idle and the
  /// network has not passed `at`.
  void start(std::size_t job, std::size_t pipeline, TimePoint at);
  /// Runs until the job is idle; returns when its last chunk arrived. Precondition: it was started.
  TimePoint run(std::size_t job);

  /// Runs the events of one instant and returns it; nothing when no event is left.
  std::optional<TimePoint> step();
  bool idle(std::size_t job) const { return !jobs_[job].running; }
  std::uint64_t events() const { return events_; }

 private:
  struct LiveHop {
    TimePoint free;  ///< when the chunk being sent has left
    Duration send;   ///< of one chunk at the ceiling
    Duration latency;
    std::uint32_t sent = 0;  ///< chunks begun
    std::uint32_t delivered = 0;
    std::uint32_t most_under_way = 1;
    std::uint32_t job = 0;
    bool held_back = false;  ///< its chunks are flows of the solver
    bool sending = false;    ///< such a flow is there now
    bool wakeup = false;     ///< an event at `free` is pending
  };
  /// What a hop that may be held back is sending.
  struct Flow {
    TransferAmount left = 0;
    TimePoint since;  ///< instant `left` was true
    std::int64_t rate = 0;
    std::int64_t ceiling = 0;
    std::uint32_t version = 0;  ///< of the predicted end; older predictions are stale
  };
  struct LiveJob {
    std::vector<ChunkPipeline> pipelines;
    std::optional<Recurrence> recurrence;
    const ChunkPipeline* pipeline = nullptr;  ///< running, or run last
    std::uint32_t first_hop = 0;              ///< its place among all live hops
    std::uint64_t missing = 0;                ///< chunks to deliver
    bool running = false;
    bool late = false;  ///< due again before it ended
    TimePoint end;
  };
  enum class What : std::uint32_t { delivered, free, sent, start, recur };
  struct Wakeup {
    std::uint32_t index;  ///< live hop, or job
    /// The low bits hold What, the bits above it the version of a flow.
    std::uint32_t what;
  };
  static constexpr std::uint32_t kWhatBits = 3;

  void push(TimePoint time, std::uint32_t index, What what, std::uint32_t version = 0);
  void handle(const Wakeup& wakeup);
  void set_up(std::uint32_t job, const ChunkPipeline& pipeline);
  void begin(std::uint32_t job);
  void finish(LiveJob& job);
  void delivered(std::uint32_t index);
  void advance(std::uint32_t index);
  bool ready(const LiveHop& hop, std::uint32_t index) const;
  void send_flow(std::uint32_t index);
  void flow_sent(std::uint32_t index);
  void settle();
  void book_all();

  const NetworkLinks& links_;
  std::vector<LiveJob> jobs_;
  std::vector<LiveHop> hops_;
  std::vector<Flow> flows_;  ///< by live hop
  /// For each link, the most that may ever be sent over it.
  std::vector<std::int64_t> reserved_;
  MaxMin solver_;
  EventQueue<Wakeup> queue_;
  TimePoint now_;
  std::uint64_t events_ = 0;
};

inline EveryChunkNetwork::EveryChunkNetwork(const NetworkLinks& links, std::vector<NetworkJob> jobs)
    : links_(links), reserved_(links.capacities.size(), 0), solver_(links.capacities) {
  std::uint32_t hops = 0;
  for (NetworkJob& job : jobs) {
    LiveJob live;
    live.pipelines = std::move(job.pipelines);
    live.recurrence = job.recurrence;
    live.first_hop = hops;
    std::size_t most = 0;
    for (const ChunkPipeline& pipeline : live.pipelines)
      most = std::max(most, pipeline.shape->hops.size());
    hops += static_cast<std::uint32_t>(most);
    jobs_.push_back(std::move(live));
  }
  hops_.resize(hops);
  flows_.resize(hops);
  book_all();
  for (std::uint32_t job = 0; job < jobs_.size(); ++job)
    if (jobs_[job].recurrence) push(jobs_[job].recurrence->first, job, What::recur);
}

inline void EveryChunkNetwork::start(std::size_t job, std::size_t pipeline, TimePoint at) {
  DDPSIM_ASSERT(!jobs_[job].running, "a job starts a pipeline while it runs one", job);
  const auto index = static_cast<std::uint32_t>(job);
  set_up(index, jobs_[job].pipelines[pipeline]);
  push(at + jobs_[job].pipeline->start, index, What::start);
}

inline TimePoint EveryChunkNetwork::run(std::size_t job) {
  while (jobs_[job].running) {
    const bool going_on = step().has_value();
    DDPSIM_ASSERT(going_on, "a pipeline never finished");
  }
  return jobs_[job].end;
}

inline std::optional<TimePoint> EveryChunkNetwork::step() {
  if (queue_.empty()) return std::nullopt;
  do {
    const auto [time, wakeup] = queue_.pop();
    now_ = time;
    ++events_;
    handle(wakeup);
  } while (queue_.more_now());
  if (!solver_.settled()) settle();
  return now_;
}

inline void EveryChunkNetwork::push(TimePoint time, std::uint32_t index, What what,
                                    std::uint32_t version) {
  queue_.push(time, {index, static_cast<std::uint32_t>(what) | version << kWhatBits});
}

inline void EveryChunkNetwork::handle(const Wakeup& wakeup) {
  const std::uint32_t index = wakeup.index;
  switch (static_cast<What>(wakeup.what & ((1U << kWhatBits) - 1))) {
    case What::delivered:
      delivered(index);
      break;
    case What::free:
      hops_[index].wakeup = false;
      advance(index);
      break;
    case What::sent:
      if (hops_[index].sending &&
          flows_[index].version << kWhatBits >> kWhatBits == wakeup.what >> kWhatBits)
        flow_sent(index);
      break;
    case What::start:
      begin(index);
      break;
    case What::recur:
      if (jobs_[index].running) {
        jobs_[index].late = true;
        break;
      }
      set_up(index, jobs_[index].pipelines[0]);
      push(now_ + jobs_[index].pipeline->start, index, What::start);
      if (jobs_[index].recurrence->period > Duration())
        push(now_ + jobs_[index].recurrence->period, index, What::recur);
      break;
  }
}

/// A hop has buffers for so many chunks begun and not delivered: one leaves while others are on their way. That they are
/// enough to send without a pause is what FlowNetwork, which does not count them, relies on. In a rendezvous it is one.
inline std::uint32_t most_under_way(const ChunkPipeline& pipeline, const HopTiming& timing) {
  if (pipeline.rendezvous) return 1;
  if (timing.send <= Duration()) return std::max(1U, pipeline.chunks);
  const std::int64_t send = timing.send.picoseconds();
  const std::int64_t on_the_way = (timing.latency.picoseconds() + send - 1) / send;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(1 + on_the_way, 1U << 30));
}

inline void EveryChunkNetwork::set_up(std::uint32_t index, const ChunkPipeline& pipeline) {
  LiveJob& job = jobs_[index];
  job.running = true;
  job.pipeline = &pipeline;
  const std::vector<Hop>& hops = pipeline.shape->hops;
  job.missing = std::uint64_t{pipeline.chunks} * hops.size();
  for (std::size_t i = 0; i < hops.size(); ++i) {
    LiveHop& live = hops_[job.first_hop + i];
    Flow& flow = flows_[job.first_hop + i];
    const HopTiming timing = hop_timing(pipeline, hops[i], links_);
    live = LiveHop{.send = timing.send,
                   .latency = timing.latency,
                   .most_under_way = most_under_way(pipeline, timing),
                   .job = index};
    live.held_back = timing.send > Duration() && !uncontended(hops[i].route, links_, reserved_);
    flow.ceiling = timing.ceiling;
  }
}

inline void EveryChunkNetwork::begin(std::uint32_t index) {
  LiveJob& job = jobs_[index];
  const auto hops = static_cast<std::uint32_t>(job.pipeline->shape->hops.size());
  if (job.missing == 0) return finish(job);
  for (std::uint32_t hop = 0; hop < hops; ++hop) advance(job.first_hop + hop);
}

inline void EveryChunkNetwork::finish(LiveJob& job) {
  job.running = false;
  job.end = now_;
  if (std::exchange(job.late, false))
    push(now_, static_cast<std::uint32_t>(&job - jobs_.data()), What::recur);
}

inline void EveryChunkNetwork::delivered(std::uint32_t index) {
  LiveHop& hop = hops_[index];
  ++hop.delivered;
  LiveJob& job = jobs_[hop.job];
  if (--job.missing == 0) return finish(job);
  const PipelineShape& shape = *job.pipeline->shape;
  for (const std::uint32_t next : shape.list(shape.hops[index - job.first_hop].feeds))
    advance(job.first_hop + next);
  advance(index);
}

inline void EveryChunkNetwork::advance(std::uint32_t index) {
  LiveHop& hop = hops_[index];
  while (ready(hop, index)) {
    if (hop.held_back) {
      if (!hop.sending) send_flow(index);
      return;
    }
    if (now_ < hop.free) {
      if (!std::exchange(hop.wakeup, true)) push(hop.free, index, What::free);
      return;
    }
    ++hop.sent;
    hop.free = now_ + hop.send;
    push(hop.free + hop.latency, index, What::delivered);
  }
}

inline bool EveryChunkNetwork::ready(const LiveHop& hop, std::uint32_t index) const {
  const LiveJob& job = jobs_[hop.job];
  const ChunkPipeline& pipeline = *job.pipeline;
  if (hop.sent == pipeline.chunks || hop.sent - hop.delivered >= hop.most_under_way) return false;
  const PipelineShape& shape = *pipeline.shape;
  const auto earlier = static_cast<std::uint32_t>(shape.dependency);
  for (const std::uint32_t before : shape.list(shape.hops[index - job.first_hop].waits_for))
    if (hops_[job.first_hop + before].delivered + earlier <= hop.sent) return false;
  return true;
}

inline void EveryChunkNetwork::send_flow(std::uint32_t index) {
  LiveHop& hop = hops_[index];
  const LiveJob& job = jobs_[hop.job];
  ++hop.sent;
  hop.sending = true;
  Flow& flow = flows_[index];
  flow.left = chunk_amount(*job.pipeline);
  flow.since = now_;
  flow.rate = 0;
  solver_.add(index, links_.of(job.pipeline->shape->hops[index - job.first_hop].route),
              flow.ceiling);
}

inline void EveryChunkNetwork::flow_sent(std::uint32_t index) {
  LiveHop& hop = hops_[index];
  hop.sending = false;
  solver_.remove(index);
  push(now_ + hop.latency, index, What::delivered);
  advance(index);
}

inline void EveryChunkNetwork::settle() {
  for (const std::uint32_t index : solver_.settle()) {
    Flow& flow = flows_[index];
    const auto elapsed = static_cast<TransferAmount>((now_ - flow.since).picoseconds());
    const TransferAmount done = static_cast<TransferAmount>(flow.rate) * elapsed;
    flow.left -= std::min(flow.left, done);
    flow.since = now_;
    flow.rate = solver_.rate(index);
    ++flow.version;
    // Far beyond any step, and far inside 63 bits.
    constexpr TransferAmount kLongest = TransferAmount{1} << 61;
    const auto rate = static_cast<TransferAmount>(flow.rate);
    const TransferAmount time = std::min(kLongest, (flow.left + rate - 1) / rate);
    push(now_ + Duration::picoseconds(static_cast<std::int64_t>(time)), index, What::sent,
         flow.version);
  }
}

/// Books, for each job, the pipeline that would take most of a link if all sent at once.
inline void EveryChunkNetwork::book_all() {
  std::vector<std::int64_t> most(reserved_.size());
  std::vector<std::int64_t> one(reserved_.size());
  for (const LiveJob& job : jobs_) {
    std::fill(most.begin(), most.end(), 0);
    for (const ChunkPipeline& pipeline : job.pipelines) {
      std::fill(one.begin(), one.end(), 0);
      reserve_links(pipeline, hop_timings(pipeline, links_), links_, one);
      for (std::size_t link = 0; link < one.size(); ++link)
        most[link] = std::max(most[link], one[link]);
    }
    for (std::size_t link = 0; link < most.size(); ++link)
      if (__builtin_add_overflow(reserved_[link], most[link], &reserved_[link]))
        reserved_[link] = std::numeric_limits<std::int64_t>::max();
  }
}

}  // namespace ddpsim
