// Runs schedules: streams advance in program order, and work has a remainder and a rate.
//
// Three things change rates:
//
// - While an NCCL kernel is resident on a GPU (waiting or transferring), its thread blocks hold
//   SMs, so compute there runs at 1 - loss * channels.
// - While compute runs on any GPU that takes part, a transfer runs at Rates::communication.
// - Concurrent transfers share the links (InFlight).
//
// On each change, the work done so far is counted at the old rate (task.hpp) and a new end is
// predicted. The older prediction in the queue is recognised by its version and dropped.

#include <algorithm>
#include <span>

#include "ddpsim/sim/engine/event_queue.hpp"
#include "ddpsim/sim/engine/schedule.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "rank_progress.hpp"
#include "task.hpp"

namespace ddpsim {
namespace {

struct Wakeup {
  enum class Kind : std::uint8_t { stream, compute, transfer, volume } kind;
  std::uint32_t index;    ///< rank position, or collective
  std::uint32_t version;  ///< of the task; for Kind::stream, the stream
};

class Executor {
 public:
  Executor(const Schedule& schedule, const Rates& rates, const TransferTime& transfer_time)
      : schedule_(schedule),
        rates_(rates),
        transfer_time_(transfer_time),
        transfer_beside_compute_(rates.communication),
        others_(kCommunication + static_cast<std::uint32_t>(schedule.in_flight.lanes())),
        streams_(others_ + static_cast<std::uint32_t>(schedule.ranks.front().others.size())),
        now_(schedule.start) {
    const std::size_t ranks = schedule.ranks.size();
    states_.resize(ranks);
    result_.ranks.resize(ranks);
    collectives_.resize(schedule.collectives.size());
    result_.collectives.resize(schedule.collectives.size());
    for (CollectiveTime& collective : result_.collectives) collective.starts.resize(ranks);
    std::size_t events = 0;
    for (const RankPrograms& programs : schedule.ranks) events += programs.events;
    all_events_.resize(events);
    all_streams_.resize(ranks * streams_);
    std::span<EventState> events_left = all_events_;
    for (std::size_t r = 0; r < ranks; ++r) {
      const RankPrograms& programs = schedule.ranks[r];
      states_[r].events = events_left.first(programs.events);
      events_left = events_left.subspan(programs.events);
      states_[r].streams = std::span(all_streams_).subspan(r * streams_, streams_);
      bind(r, kHost, programs.host, result_.ranks[r].host);
      bind(r, kCompute, programs.compute, result_.ranks[r].compute);
      bind_lanes(r, programs.communication, result_.ranks[r].communication);
      bind_others(r, programs.others, result_.ranks[r].others);
    }
  }

  Execution run() {
    for (std::size_t r = 0; r < states_.size(); ++r)
      for (StreamId stream = kHost; stream < streams_; ++stream) advance(r, stream);
    while (!queue_.empty()) {
      const auto [time, wakeup] = queue_.pop();
      now_ = time;
      ++result_.events;
      handle(wakeup);
    }
    for (const RankProgress& state : states_) {
      for (const Stream& stream : state.streams)
        DDPSIM_ASSERT(stream.next == stream.end, "a stream never finished", stream.next,
                      stream.end);
      for (const std::size_t next : state.next_jobs)
        DDPSIM_ASSERT(next + 1 >= state.jobs.size(), "a collective was never launched", next,
                      state.jobs.size());
    }
    return std::move(result_);
  }

 private:
  void bind(std::size_t rank, StreamId id, const Program& program,
            std::vector<OperationTime>& times) {
    times.resize(program.size());
    states_[rank].streams[id] = {
        .program = program.data(), .times = times.data(), .end = program.size()};
  }

  void bind_lanes(std::size_t rank, const Program& program, std::vector<OperationTime>& times) {
    RankProgress& state = states_[rank];
    for (StreamId lane = kCommunication; lane < others_; ++lane) {
      bind(rank, lane, program, times);
      state.streams[lane].end = 0;
    }
    state.jobs = parts_by_collective(program);
    for (int group = 0; group < schedule_.in_flight.groups; ++group)
      state.next_jobs.push_back(static_cast<std::size_t>(group));
  }

  void bind_others(std::size_t rank, const std::vector<Program>& programs,
                   std::vector<std::vector<OperationTime>>& times) {
    DDPSIM_ASSERT(programs.size() == streams_ - others_, "ranks differ in their streams",
                  programs.size(), streams_ - others_);
    times.resize(programs.size());
    for (std::size_t i = 0; i < programs.size(); ++i)
      bind(rank, others_ + static_cast<StreamId>(i), programs[i], times[i]);
  }

  /// Lets a free lane take its group's next collective. Returns false if `id` is no lane or none is
  /// left.
  bool takes_next(std::size_t rank, StreamId id) {
    if (id < kCommunication || id >= others_) return false;
    RankProgress& state = states_[rank];
    const auto groups = static_cast<std::size_t>(schedule_.in_flight.groups);
    std::size_t& job = state.next_jobs[(id - kCommunication) % groups];
    if (job + 1 >= state.jobs.size()) return false;
    state.streams[id].next = state.jobs[job];
    state.streams[id].end = state.jobs[job + 1];
    job += groups;
    return true;
  }

  void handle(const Wakeup& wakeup) {
    switch (wakeup.kind) {
      case Wakeup::Kind::stream: {
        const StreamId stream = wakeup.version;
        leave(states_[wakeup.index].streams[stream]);
        advance(wakeup.index, stream);
        break;
      }
      case Wakeup::Kind::compute: {
        RankProgress& state = states_[wakeup.index];
        if (!state.computing || state.compute.version != wakeup.version) return;
        leave(state.streams[kCompute]);
        advance(wakeup.index, kCompute);
        break;
      }
      case Wakeup::Kind::transfer:
        if (collectives_[wakeup.index].transfer.version != wakeup.version) return;
        std::erase(transferring_, wakeup.index);
        finish_part(wakeup.index);
        break;
      case Wakeup::Kind::volume:
        if (collectives_[wakeup.index].volume.version != wakeup.version) return;
        std::erase(on_links_, wakeup.index);
        update_transfer_rates();
        finish_part(wakeup.index);
        break;
    }
  }

  /// Runs operations of one stream until one takes time or must wait.
  void advance(std::size_t rank, StreamId id) {
    Stream& stream = states_[rank].streams[id];
    while (stream.next < stream.end || takes_next(rank, id)) {
      const Operation& operation = stream.program[stream.next];
      if (!stream.entered) {
        stream.times[stream.next].start = now_;
        stream.entered = true;
      }
      if (!runs_through(rank, id, operation)) return;
      leave(stream);
    }
    if (id == kCompute) set_computing(rank, false);
  }

  /// Returns true if the operation ends at this very instant.
  bool runs_through(std::size_t rank, StreamId id, const Operation& operation) {
    RankProgress& state = states_[rank];
    switch (operation.action) {
      case Action::record:
        record(rank, operation.event);
        return true;
      case Action::wait: {
        const EventState& event = state.events[operation.event];
        if (!event.reached) {
          state.streams[id].waiting_for = operation.event;
          if (id == kCompute) set_computing(rank, false);
          return false;
        }
        return sleep_until(event.at + operation.duration, rank, id);
      }
      case Action::wait_until:
        return sleep_until(TimePoint(operation.duration), rank, id);
      case Action::work:
        if (operation.duration <= Duration()) return true;
        if (id != kCompute) return sleep_until(now_ + operation.duration, rank, id);
        if (state.computing && goes_on(state.streams[id]))
          state.compute.go_on(operation.duration);
        else
          state.compute.start(operation.duration, compute_rate(rank), now_);
        set_computing(rank, true);
        queue_.push(state.compute.end(), {Wakeup::Kind::compute, static_cast<std::uint32_t>(rank),
                                          state.compute.version});
        return false;
      case Action::collective:
        arrive(rank, operation.collective);
        return false;
    }
    return true;
  }

  /// Whether only launches lie between this work and the work before. Then both are rounded
  /// together, so that no result depends on whether a launch that nothing waits for is simulated.
  static bool goes_on(const Stream& stream) {
    for (std::size_t k = stream.next; k-- > 0;) {
      const Operation& before = stream.program[k];
      if (before.action == Action::work && before.duration > Duration()) return true;
      if (!waits_for_launch(before)) return false;
    }
    return false;
  }

  void leave(Stream& stream) {
    stream.times[stream.next].end = now_;
    ++stream.next;
    stream.entered = false;
  }

  bool sleep_until(TimePoint time, std::size_t rank, StreamId id) {
    if (time <= now_) return true;
    if (id == kCompute) set_computing(rank, false);
    queue_.push(time, {Wakeup::Kind::stream, static_cast<std::uint32_t>(rank), id});
    return false;
  }

  void record(std::size_t rank, EventId id) {
    RankProgress& state = states_[rank];
    state.events[id] = {.reached = true, .at = now_};
    for (StreamId waiting = kHost; waiting < streams_; ++waiting) {
      Stream& stream = state.streams[waiting];
      if (stream.waiting_for != id) continue;
      stream.waiting_for = Stream::kNoEvent;
      const Duration latency = stream.program[stream.next].duration;
      queue_.push(now_ + latency,
                  {Wakeup::Kind::stream, static_cast<std::uint32_t>(rank), waiting});
    }
  }

  void arrive(std::size_t rank, std::uint32_t index) {
    CollectiveState& collective = collectives_[index];
    CollectiveTime& times = result_.collectives[index];
    times.starts[rank] = now_;
    if (collective.arrived == 0 || now_ > times.last_arrival) times.last = rank;
    times.last_arrival = now_;
    states_[rank].channels += schedule_.collectives[index].channels;
    update_compute_rate(rank);
    if (++collective.arrived < states_.size()) return;
    const Duration transfer =
        transfer_time_ ? transfer_time_(index, now_) : schedule_.collectives[index].transfer;
    collective.unfinished = 1;
    collective.transfer.start(transfer, transfer_rate(), now_);
    transferring_.push_back(index);
    predict_transfer(index);
    update_memory_load(index);
    if (!shares_links() || schedule_.collectives[index].volume <= Duration()) return;
    ++collective.unfinished;
    on_links_.push_back(index);
    collective.volume.start(schedule_.collectives[index].volume, volume_rate(index), now_);
    predict_volume(index);
    update_transfer_rates();  // of those already transferring
  }

  /// Whether collectives can compete for links. A collective on the only lane needs no second
  /// clock, because its volume is a part of its transfer.
  bool shares_links() const { return schedule_.in_flight.lanes() > 1 || streams_ > others_; }

  void finish_part(std::uint32_t index) {
    if (--collectives_[index].unfinished == 0) finish(index);
  }

  void finish(std::uint32_t index) {
    result_.collectives[index].end = now_;
    update_memory_load(index);
    std::vector<StreamId>& lanes = freed_lanes_;
    lanes.assign(states_.size(), kCommunication);
    for (std::size_t rank = 0; rank < states_.size(); ++rank) {
      states_[rank].channels -= schedule_.collectives[index].channels;
      update_compute_rate(rank);
      lanes[rank] = lane_of(rank, index);
      leave(states_[rank].streams[lanes[rank]]);
    }
    for (std::size_t rank = 0; rank < states_.size(); ++rank) advance(rank, lanes[rank]);
  }

  StreamId lane_of(std::size_t rank, std::uint32_t index) const {
    for (StreamId lane = kCommunication; lane < streams_; ++lane) {
      const Stream& stream = states_[rank].streams[lane];
      if (!stream.entered) continue;
      const Operation& operation = stream.program[stream.next];
      if (operation.action == Action::collective && operation.collective == index) return lane;
    }
    DDPSIM_ASSERT(false, "no lane runs the collective");
    return kCommunication;
  }

  void predict_transfer(std::uint32_t index) {
    const Task& transfer = collectives_[index].transfer;
    queue_.push(transfer.end(), {Wakeup::Kind::transfer, index, transfer.version});
  }
  void predict_volume(std::uint32_t index) {
    const Task& volume = collectives_[index].volume;
    queue_.push(volume.end(), {Wakeup::Kind::volume, index, volume.version});
  }

  Rate compute_rate(std::size_t rank) const {
    return Rate(1 - rates_.compute_loss_per_channel * states_[rank].channels -
                rates_.compute_loss_per_load * memory_load_);
  }

  /// Called when a transfer begins or ends. Every GPU takes part in every transfer.
  void update_memory_load(std::uint32_t changed) {
    if (rates_.compute_loss_per_load <= 0 || schedule_.collectives[changed].memory_load <= 0)
      return;
    memory_load_ = 0;
    for (const std::uint32_t index : transferring_)
      memory_load_ += schedule_.collectives[index].memory_load;
    for (std::size_t rank = 0; rank < states_.size(); ++rank) update_compute_rate(rank);
  }

  void update_compute_rate(std::size_t rank) {
    RankProgress& state = states_[rank];
    const Rate rate = compute_rate(rank);
    if (!state.computing || state.compute.rate == rate) return;
    state.compute.change_rate(rate, now_);
    queue_.push(state.compute.end(),
                {Wakeup::Kind::compute, static_cast<std::uint32_t>(rank), state.compute.version});
  }

  Rate transfer_rate() const { return computing_ranks_ > 0 ? transfer_beside_compute_ : Rate(); }

  /// Collectives beyond those that fill a link share it fairly. The busiest link of a collective
  /// decides.
  Rate volume_rate(std::uint32_t index) const {
    std::ptrdiff_t most = 0;
    for (const Links kind : {kInsideNodes, kBetweenNodes, kToServers, kFromServers})
      if ((schedule_.collectives[index].links & kind) != 0)
        most = std::max(most, std::ranges::count_if(on_links_, [&](std::uint32_t other) {
                          return (schedule_.collectives[other].links & kind) != 0;
                        }));
    const double share = std::min(1.0, schedule_.in_flight.to_fill / static_cast<double>(most));
    return Rate((computing_ranks_ > 0 ? rates_.communication : 1) * share);
  }

  void set_computing(std::size_t rank, bool computing) {
    RankProgress& state = states_[rank];
    if (state.computing == computing) return;
    const Rate before = transfer_rate();
    state.computing = computing;
    computing_ranks_ += computing ? 1 : -1;
    if (before != transfer_rate()) update_transfer_rates();
  }

  void update_transfer_rates() {
    for (const std::uint32_t index : transferring_) {
      Task& transfer = collectives_[index].transfer;
      if (transfer.rate == transfer_rate()) continue;
      transfer.change_rate(transfer_rate(), now_);
      predict_transfer(index);
    }
    for (const std::uint32_t index : on_links_) {
      Task& volume = collectives_[index].volume;
      const Rate rate = volume_rate(index);
      if (volume.rate == rate) continue;
      volume.change_rate(rate, now_);
      predict_volume(index);
    }
  }

  const Schedule& schedule_;
  const Rates& rates_;
  const TransferTime& transfer_time_;
  const Rate transfer_beside_compute_;
  const StreamId others_;  ///< the first other stream, after the lanes
  const StreamId streams_;
  TimePoint now_;
  EventQueue<Wakeup> queue_;
  std::vector<RankProgress> states_;
  std::vector<Stream> all_streams_;  ///< rank by rank
  std::vector<EventState> all_events_;
  std::vector<CollectiveState> collectives_;
  int computing_ranks_ = 0;
  std::vector<std::uint32_t> transferring_;  ///< in the order they began
  double memory_load_ = 0;                   ///< of all running transfers, on every GPU
  std::vector<std::uint32_t> on_links_;      ///< collectives whose volume is still moving
  std::vector<StreamId> freed_lanes_;        ///< by rank, of the last collective
  Execution result_;
};

}  // namespace

Execution execute(const Schedule& schedule, const Rates& rates, const TransferTime& transfer_time) {
  return Executor(schedule, rates, transfer_time).run();
}

}  // namespace ddpsim
