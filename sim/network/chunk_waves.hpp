// What follows at once from a chunk that arrives: its way over hops that nothing holds back.
//
// Beside background traffic, or on a fabric with a narrow link, few hops of a pipeline may be held
// back. How fast those send is found event by event (flow_network.hpp). Chunks of the others leave,
// whatever else is on the network, at the later of two instants:
//
//   leave(h, k) = max( leave(h, k - 1) + again(h), arrival at h of what chunk k waits for )
//
// again: the time to send a chunk, in a rendezvous to deliver it; deliver: to send it and be there.
// Three things make this cheap. Each is exact, to the picosecond:
//
//   stretch  hops behind each other, or branching, that have the same `again`. What leaves the first
//            keeps its distance all the way, so that the others never wait:
//              leave(h, k) = leave(first, k) + deliver of those before h.
//            In a ring h sends the chunk behind, k + 1 and so on, and all hops begin with one of
//            their own; as again <= deliver, those do not meet what follows them either.
//   line     hops that nothing held back leads to. If all that lead to one send a chunk every s, it
//            sends its chunk k at first + k max(s, again).
//   channel  without hops that may be held back: that is the steady state's alone (steady_state.hpp).
//
// So a wave, what a chunk sets in motion, takes one step per stretch, up to the next hops that may be
// held back. In time these arrivals may lie far ahead. Waves need no order in time: instants are
// sums and maxima, and each hop's chunks come in order.
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
  /// From then on a hop that may be held back has one more chunk it may send.
  struct Arrival {
    std::uint32_t hop;
    TimePoint time;
  };

  /// `timings` and `held_back` by hop. The shape outlives the waves.
  ChunkWaves(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings,
             const std::vector<bool>& held_back);

  /// The pipeline may send its first chunks.
  void begin(TimePoint now);
  /// A hop that may be held back has delivered chunk `chunk`, its next.
  void delivered(std::uint32_t hop, std::uint32_t chunk, TimePoint now);

  /// What the last call has found, of each hop in order of time.
  std::span<const Arrival> arrivals() const { return arrivals_; }
  /// Whether it is known when every chunk arrives, and the last instant that is known.
  bool complete() const { return incomplete_ == 0; }
  TimePoint end() const { return end_; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  enum class Role {
    free_channel,
    held_back,
    line,
    first,   ///< of a stretch
    member,  ///< of a stretch, not the first
  };
  struct Line {
    Duration first;  ///< after the begin
    Duration again;
  };
  struct HopState {
    Role role = Role::free_channel;
    Duration again;
    Duration deliver;
    Line line;                      ///< when its chunks leave, if they do in a line
    Slice lines;                    ///< what arrives here in lines, in lines_
    std::uint32_t waits_for = 0;    ///< hops that lead here otherwise
    std::uint32_t meeting = kNone;  ///< in meetings_, if those are several
    std::uint32_t stretch = kNone;  ///< in stretches_, of a first hop or member
    std::uint32_t known = 0;        ///< chunks that have all they wait for, at a known time
  };
  /// Where a stretch, or a hop that may be held back, ends.
  struct Exit {
    std::uint32_t to;     ///< hop
    std::uint32_t steps;  ///< hops until there
    Duration after;       ///< the chunk left the first hop
  };
  struct Stretch {
    std::uint32_t first;
    TimePoint next;  ///< when the chunk after the last that is known may leave the first hop
    Slice exits;     ///< in exits_
    /// In reaches_, by steps from the first hop: when a chunk that left there is delivered. Where
    /// all hops send the same chunk, one: to the farthest.
    Slice reaches;
  };
  /// Chunk `chunk` of a hop has what one of the hops that lead there delivers.
  struct Wave {
    std::uint32_t hop;
    std::uint32_t chunk;
    TimePoint time;
  };
  /// A chunk that waits for several hops.
  struct Meeting {
    TimePoint latest;
    std::uint32_t missing;
  };

  void mark_free_channels(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings);
  void find_lines();
  void find_stretches();
  void collect_stretch(std::uint32_t first);
  bool carries_on(std::uint32_t hop, std::uint32_t next) const;

  void begin_same();
  void begin_rings();
  void begin_within(const Stretch& stretch);
  std::uint32_t before(std::uint32_t hop) const;
  void feed(std::uint32_t hop, std::uint32_t chunk, TimePoint time);
  void spread();
  void pass(Stretch& stretch, std::uint32_t chunk, TimePoint arrival);
  bool met(const HopState& hop, Wave& wave);
  void reach(TimePoint time);

  const PipelineShape& shape_;
  std::uint32_t chunks_;
  std::uint32_t later_;     ///< by how many chunks what arrives is sent later
  Duration free_duration_;  ///< of channels without hops that may be held back
  std::vector<HopState> hops_;
  std::vector<Line> lines_;
  std::vector<Stretch> stretches_;
  std::vector<Exit> exits_;
  std::vector<Duration> reaches_;
  std::vector<std::deque<Meeting>> meetings_;  ///< by chunk, from the first that is not known
  std::vector<Wave> waiting_;                  ///< to be spread
  std::vector<Arrival> arrivals_;
  std::size_t incomplete_ = 0;  ///< stretches and held-back hops whose last chunk is not known
  TimePoint begin_;
  TimePoint end_;
};

}  // namespace ddpsim
