// Computes at once everything that follows when a chunk arrives: its way over hops that nothing can
// hold back.
//
// Under background traffic, or on a fabric with a narrow link, few hops of a pipeline may be held
// back. The speed of those is found event by event (flow_network.hpp). A chunk of any other hop
// leaves at a time that does not depend on other traffic:
//
//   leave(h, k) = max( leave(h, k - 1) + again(h), arrival at h of what chunk k waits for )
//
// `again` is the time to send a chunk or, in a rendezvous, to deliver it. `deliver` is the time to
// send it and let it arrive.
//
// Three things make this cheap. Each is exact, to the picosecond.
//
// A run is a set of hops in a row, or branching, that have the same `again`. A chunk that leaves
// the first hop keeps its distance all the way, so that the others never wait:
//
//   leave(h, k) = leave(first, k) + deliver of the hops before h
//
// In a ring, h sends the next chunk, k + 1 and so on, and all hops begin with a chunk of their own.
// Because again <= deliver, these chunks do not meet what follows them either.
//
// A line is a hop that only hops without delays lead to. If each of them sends a chunk every s, it
// sends its chunk k at first + k max(s, again).
//
// A channel without hops that may be held back is left to the steady state (steady_state.hpp).
//
// A wave is what a chunk sets in motion. It takes one step per run, up to the next hops that may be
// held back. Those arrivals may be far in the future. Waves need not be ordered in time, because
// times are sums and maxima, and each hop's chunks come in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "network_links.hpp"

namespace ddpsim {

class ChunkWaves {
 public:
  /// At this time, a hop that may be held back gets one more chunk that it may send.
  struct Arrival {
    std::uint32_t hop;
    TimePoint time;
  };

  /// `timings` and `held_back` are by hop. The shape must outlive the waves.
  ChunkWaves(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings,
             const std::vector<bool>& held_back);

  /// The pipeline starts and may send its first chunks.
  void begin(TimePoint now);
  /// A hop that may be held back has delivered its next chunk, which is `chunk`.
  void delivered(std::uint32_t hop, std::uint32_t chunk, TimePoint now);

  /// Arrivals found by the last call, in order of time for each hop.
  std::span<const Arrival> arrivals() const { return arrivals_; }
  /// Whether the arrivals of all chunks are known.
  bool complete() const { return incomplete_ == 0; }
  /// The last known arrival.
  TimePoint end() const { return end_; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  enum class Role {
    free_channel,
    held_back,
    line,
    first,   ///< the first hop of a run
    member,  ///< any other hop of a run
  };
  struct Line {
    Duration first;  ///< since the beginning
    Duration again;
  };
  struct HopState {
    Role role = Role::free_channel;
    Duration again;
    Duration deliver;
    /// When its chunks leave, if the hop is a line.
    Line line;
    Slice lines;                    ///< in lines_: lines that arrive here
    std::uint32_t waits_for = 0;    ///< other hops that lead here
    std::uint32_t meeting = kNone;  ///< in meetings_, if waits_for is several
    std::uint32_t run = kNone;      ///< in runs_, for a first hop or member
    /// Chunks for which the time is known at which they have everything they wait for.
    std::uint32_t known = 0;
  };
  /// A hop to which a run, or a hop that may be held back, leads.
  struct Exit {
    std::uint32_t to;     ///< hop
    std::uint32_t steps;  ///< hops until there
    Duration after;       ///< time since the chunk left the first hop
  };
  struct HopRun {
    std::uint32_t first;
    /// When the chunk after the last known one may leave the first hop.
    TimePoint next;
    Slice exits;  ///< in exits_
    /// In reaches_, by steps from the first hop: time until a chunk that left there is delivered.
    /// If all hops send the same chunk, there is only one entry, for the farthest.
    Slice reaches;
  };
  /// One of the hops that lead to `hop` delivers what its chunk `chunk` waits for.
  struct Wave {
    std::uint32_t hop;
    std::uint32_t chunk;
    TimePoint time;
  };
  /// A chunk that waits for deliveries of several hops.
  struct Meeting {
    TimePoint latest;
    std::uint32_t missing;
  };

  void mark_free_channels(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings);
  void find_lines();
  void find_runs();
  void collect_run(std::uint32_t first);
  bool carries_on(std::uint32_t hop, std::uint32_t next) const;

  void begin_same();
  void begin_rings();
  void begin_within(const HopRun& run);
  std::uint32_t before(std::uint32_t hop) const;
  void feed(std::uint32_t hop, std::uint32_t chunk, TimePoint time);
  void spread();
  void pass(HopRun& run, std::uint32_t chunk, TimePoint arrival);
  bool met(const HopState& hop, Wave& wave);
  void reach(TimePoint time);

  const PipelineShape& shape_;
  std::uint32_t chunks_;
  std::uint32_t later_;     ///< chunks between an arrival and sending it on
  Duration free_duration_;  ///< of channels that nothing holds back
  std::vector<HopState> hops_;
  std::vector<Line> lines_;
  std::vector<HopRun> runs_;
  std::vector<Exit> exits_;
  std::vector<Duration> reaches_;
  /// By chunk, starting with the first unknown one.
  std::vector<std::deque<Meeting>> meetings_;
  std::vector<Wave> waiting_;  ///< to be spread
  std::vector<Arrival> arrivals_;
  /// Runs, and hops that may be held back, whose last chunk is not known yet.
  std::size_t incomplete_ = 0;
  TimePoint begin_;
  TimePoint end_;
};

}  // namespace ddpsim
