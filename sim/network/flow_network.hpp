// Runs chunk pipelines on shared links, event by event where links are too narrow.
//
// Every chunk that is being sent over a route is a flow. Rates are max-min fair (max_min.hpp) and
// at most the pipeline's own ceiling.
//
// A hop is never held back if its links could carry everything that may ever be sent over them, at
// full ceilings. Its chunks take a known time and need no event (chunk_waves.hpp). Chunks of other
// hops are flows whose rate changes as other flows start and end. The rest of a flow is kept
// exactly, in bytes times picoseconds per second.
//
// Jobs share the network. A job has pipelines that it can run, one at a time. A job with a period
// starts its pipeline again and again by itself, and late if the last one has not ended. Time only
// moves forward: run() leaves the network at the end of the requested pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "chunk_waves.hpp"
#include "ddpsim/sim/engine/event_queue.hpp"
#include "max_min.hpp"
#include "network_links.hpp"

namespace ddpsim {

/// A pipeline that starts by itself.
struct Recurrence {
  TimePoint first;
  Duration period;  ///< zero: only once
};

struct NetworkJob {
  std::vector<ChunkPipeline> pipelines;
  std::optional<Recurrence> recurrence;  ///< applies to pipelines[0]
};

class FlowNetwork {
 public:
  FlowNetwork(const NetworkLinks& links, std::vector<NetworkJob> jobs);

  /// Starts pipeline `pipeline` of a job without recurrence. Precondition: the job is idle, and the
  /// network's time is not after `at`.
  void start(std::size_t job, std::size_t pipeline, TimePoint at);
  /// Runs until the job is idle, and returns when its last chunk arrived. Precondition: it was
  /// started.
  TimePoint run(std::size_t job);

  /// Runs to this time, or until everything that began to send has ended. Returns whether the
  /// latter came first. Precondition: the network's time is not after `until`.
  bool run_until(TimePoint until);
  /// When a job with recurrence starts next, while nothing is under way. Absent: never again.
  std::optional<TimePoint> due(std::size_t job) const { return jobs_[job].due; }

  /// Runs the events of one time and returns that time. Absent if no event is left.
  std::optional<TimePoint> step();
  bool idle(std::size_t job) const { return !jobs_[job].running; }
  /// Current rate over a link in bytes per second. Hops that nothing holds back count as long as
  /// their job runs.
  std::int64_t load(LinkId link) const;

 private:
  struct LiveHop {
    Duration latency;
    std::int64_t ceiling = 0;
    std::uint32_t job = 0;
    /// Whether its chunks are flows of the solver. The members below are only for such hops.
    bool held_back = false;
    /// By chunk, as far as it is known: when it has everything it waits for. Only the next one is
    /// an event, and only if the hop has nothing to send until then.
    std::vector<TimePoint> arrivals;
    std::uint32_t sent = 0;  ///< chunks begun
    bool sending = false;
    /// The last chunk was sent and is not delivered yet, and the next one waits for that.
    bool meeting = false;
  };
  /// What a hop that may be held back is sending.
  struct Flow {
    TransferAmount left = 0;
    TimePoint since;  ///< time at which `left` was correct
    std::int64_t rate = 0;
    std::uint32_t version = 0;  ///< of the predicted end; older predictions are stale
  };
  struct LiveJob {
    std::vector<ChunkPipeline> pipelines;
    std::optional<Recurrence> recurrence;
    const ChunkPipeline* pipeline = nullptr;  ///< running, or the last one
    std::uint32_t first_hop = 0;              ///< its place among all live hops
    std::optional<ChunkWaves> waves;          ///< for hops that are not held back
    bool running = false;
    bool late = false;  ///< due again before it ended
    /// When it starts next, or started if it has not begun to send. If it is late, earlier than it
    /// will.
    std::optional<TimePoint> due;
    TimePoint end;
  };
  enum class What : std::uint32_t { arrived, sent, delivered, start, end, recur, mark };
  struct Wakeup {
    std::uint32_t index;  ///< live hop, or job
    /// What, in the lowest bits. Above it, the version of a flow.
    std::uint32_t what;
  };
  static constexpr std::uint32_t kWhatBits = 3;

  void push(TimePoint time, std::uint32_t index, What what, std::uint32_t version = 0);
  void handle(const Wakeup& wakeup);
  void set_up(std::uint32_t job, const ChunkPipeline& pipeline);
  void begin(std::uint32_t job);
  void finish(std::uint32_t job);
  void follow_waves(std::uint32_t job);
  void advance(std::uint32_t index);
  bool may_send(const LiveHop& hop) const;
  void begin_chunk(std::uint32_t index);
  void send_flow(std::uint32_t index);
  void flow_sent(std::uint32_t index);
  void settle();
  void predict(std::uint32_t index);
  void book_all();

  const NetworkLinks& links_;
  std::vector<LiveJob> jobs_;
  std::vector<LiveHop> hops_;
  std::vector<Flow> flows_;  ///< by live hop
  /// By link: the largest rate that may ever be sent over it.
  std::vector<std::int64_t> reserved_;
  MaxMin solver_;
  EventQueue<Wakeup> queue_;
  /// Jobs that have begun to send and have not ended.
  std::size_t under_way_ = 0;
  bool begun_ = false;  ///< whether any job ever was
  TimePoint now_;
};

}  // namespace ddpsim
