#include "steady_state.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ddpsim {
namespace {

/// Picoseconds by hop.
struct ChunkTimes {
  std::vector<std::int64_t> again;    ///< between chunks of a hop
  std::vector<std::int64_t> deliver;  ///< from leaving to delivery
};

ChunkTimes in_picoseconds(const std::vector<HopTiming>& hops, bool rendezvous) {
  ChunkTimes timings;
  for (const HopTiming& timing : hops) {
    const std::int64_t deliver = (timing.send + timing.latency).picoseconds();
    timings.deliver.push_back(deliver);
    timings.again.push_back(rendezvous ? deliver : timing.send.picoseconds());
  }
  return timings;
}

/// Times at which one chunk leaves each hop, computed from the times of the previous chunk.
class PipelineRecurrence {
 public:
  PipelineRecurrence(const PipelineShape& shape, std::vector<std::uint32_t> hops,
                     ChunkTimes timings)
      : shape_(shape),
        hops_(std::move(hops)),
        timings_(std::move(timings)),
        leave_(shape.hops.size(), 0),
        before_(leave_) {}

  /// The first chunk. Nothing came before it, and hops that wait for a previous chunk do not wait.
  void first() {
    if (shape_.dependency == ChunkDependency::previous) return;
    for (const std::uint32_t h : hops_) leave_[h] = arrivals(h, leave_);
  }
  void next() {
    before_.swap(leave_);
    const std::vector<std::int64_t>& arrived =
        shape_.dependency == ChunkDependency::previous ? before_ : leave_;
    for (const std::uint32_t h : hops_)
      leave_[h] = std::max(before_[h] + timings_.again[h], arrivals(h, arrived));
  }
  void skip(std::int64_t later) {
    for (const std::uint32_t h : hops_) leave_[h] += later;
  }
  const std::vector<std::int64_t>& leave() const { return leave_; }
  /// How much later every hop is than in `earlier`. Absent if it is not the same for all hops.
  std::optional<std::int64_t> same_shift(const std::vector<std::int64_t>& earlier) const {
    const std::int64_t shift = leave_[hops_[0]] - earlier[hops_[0]];
    for (const std::uint32_t h : hops_)
      if (leave_[h] - earlier[h] != shift) return std::nullopt;
    return shift;
  }
  std::int64_t end() const {
    std::int64_t end = 0;
    for (const std::uint32_t h : hops_) end = std::max(end, leave_[h] + timings_.deliver[h]);
    return end;
  }

 private:
  /// When everything that the hop waits for has arrived.
  std::int64_t arrivals(std::size_t hop, const std::vector<std::int64_t>& leave) const {
    std::int64_t latest = 0;
    for (const std::uint32_t before : shape_.list(shape_.hops[hop].waits_for))
      latest = std::max(latest, leave[before] + timings_.deliver[before]);
    return latest;
  }

  const PipelineShape& shape_;
  std::vector<std::uint32_t> hops_;
  ChunkTimes timings_;
  std::vector<std::int64_t> leave_;
  std::vector<std::int64_t> before_;
};

}  // namespace

std::optional<Duration> uncontended_duration(const ChunkPipeline& pipeline,
                                             const NetworkLinks& links) {
  const PipelineShape& shape = *pipeline.shape;
  if (shape.hops.empty() || pipeline.chunks == 0) return pipeline.start;
  std::vector<std::int64_t> reserved(links.capacities.size(), 0);
  const std::vector<HopTiming> timings = hop_timings(pipeline, links);
  reserve_links(pipeline, timings, links, reserved);
  for (std::size_t link = 0; link < reserved.size(); ++link)
    if (reserved[link] > links.capacities[link]) return std::nullopt;

  std::vector<std::uint32_t> hops(shape.hops.size());
  std::iota(hops.begin(), hops.end(), 0U);
  return pipeline.start + uncontended_end(pipeline, timings, std::move(hops));
}

Duration uncontended_end(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings,
                         std::vector<std::uint32_t> hops) {
  if (hops.empty() || pipeline.chunks == 0) return {};
  PipelineRecurrence recurrence(*pipeline.shape, std::move(hops),
                                in_picoseconds(timings, pipeline.rendezvous));
  recurrence.first();
  // Brent's search for a period: compare with the chunk of the last power of two.
  std::vector<std::int64_t> earlier = recurrence.leave();
  std::uint32_t earlier_chunk = 0;
  std::uint32_t next_reference = 1;
  std::uint32_t chunk = 0;
  while (chunk + 1 < pipeline.chunks) {
    recurrence.next();
    ++chunk;
    if (const auto shift = recurrence.same_shift(earlier)) {
      const std::uint32_t period = chunk - earlier_chunk;
      const std::uint32_t periods = (pipeline.chunks - 1 - chunk) / period;
      recurrence.skip(*shift * periods);
      chunk += periods * period;
      while (++chunk < pipeline.chunks) recurrence.next();
      break;
    }
    if (chunk == next_reference) {
      earlier = recurrence.leave();
      earlier_chunk = chunk;
      next_reference *= 2;
    }
  }
  return Duration::picoseconds(recurrence.end());
}

}  // namespace ddpsim
