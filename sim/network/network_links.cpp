#include "network_links.hpp"

#include <algorithm>
#include <limits>

namespace ddpsim {
TransferAmount chunk_amount(const ChunkPipeline& pipeline) {
  return static_cast<TransferAmount>(pipeline.ceiling) *
         static_cast<TransferAmount>(pipeline.chunk_time.picoseconds());
}

HopTiming hop_timing(const ChunkPipeline& pipeline, const Hop& hop, const NetworkLinks& links) {
  HopTiming timing{
      .ceiling = pipeline.ceiling,
      .send = pipeline.chunk_time,
      .latency = hop.between_nodes ? pipeline.network_latency : pipeline.local_latency};
  for (const LinkId link : links.of(hop.route)) {
    timing.ceiling = std::min(timing.ceiling, links.capacities[link]);
    timing.latency += links.latencies[link];
  }
  if (timing.ceiling < pipeline.ceiling) {
    const auto rate = static_cast<TransferAmount>(timing.ceiling);
    const TransferAmount time = (chunk_amount(pipeline) + rate - 1) / rate;
    timing.send = Duration::picoseconds(static_cast<std::int64_t>(time));
  }
  return timing;
}

std::vector<HopTiming> hop_timings(const ChunkPipeline& pipeline, const NetworkLinks& links) {
  std::vector<HopTiming> timings;
  timings.reserve(pipeline.shape->hops.size());
  for (const Hop& hop : pipeline.shape->hops) timings.push_back(hop_timing(pipeline, hop, links));
  return timings;
}

void reserve_links(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings,
                   const NetworkLinks& links, std::vector<std::int64_t>& reserved) {
  for (std::size_t h = 0; h < timings.size(); ++h) {
    const Route route = pipeline.shape->hops[h].route;
    for (std::uint32_t i = route.first; i < route.first + route.count; ++i) {
      std::int64_t& sum = reserved[links.route_links[i]];
      const std::int64_t alike = links.alike.empty() ? 1 : links.alike[i];
      std::int64_t rate = 0;
      if (__builtin_mul_overflow(timings[h].ceiling, alike, &rate) ||
          __builtin_add_overflow(sum, rate, &sum))
        sum = std::numeric_limits<std::int64_t>::max();
    }
  }
}

bool uncontended(Route route, const NetworkLinks& links,
                 const std::vector<std::int64_t>& reserved) {
  const std::span<const LinkId> passed = links.of(route);
  return std::all_of(passed.begin(), passed.end(),
                     [&](LinkId link) { return reserved[link] <= links.capacities[link]; });
}

}  // namespace ddpsim
