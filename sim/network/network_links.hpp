// Links as plain numbers, and how long a hop over them takes without other traffic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chunk_pipeline.hpp"
#include "ddpsim/sim/values/fabric.hpp"

namespace ddpsim {

struct NetworkLinks {
  std::vector<std::int64_t> capacities;  ///< bytes per second, by link
  std::vector<Duration> latencies;       ///< in addition to pipelines', by link
  std::vector<LinkId> route_links;       ///< a Route is a slice of this
  /// By place in route_links: how many alike hops send over the link at once, one of which stands
  /// for all (folded_network.hpp). Empty: one.
  std::vector<std::uint32_t> alike;

  std::span<const LinkId> of(Route route) const {
    return std::span(route_links).subspan(route.first, route.count);
  }
  std::span<const std::uint32_t> alike_on(Route route) const {
    const std::span<const std::uint32_t> all(alike);
    return all.empty() ? all : all.subspan(route.first, route.count);
  }
};

__extension__ using TransferAmount = unsigned __int128;  ///< bytes times picoseconds per second

/// Amount of one chunk on the wire, exactly.
TransferAmount chunk_amount(const ChunkPipeline& pipeline);

struct HopTiming {
  /// Bytes per second: the pipeline's ceiling, or the narrowest link's rate.
  std::int64_t ceiling = 1;
  Duration send;     ///< one chunk at that rate
  Duration latency;  ///< the pipeline's plus that of every link
};
HopTiming hop_timing(const ChunkPipeline& pipeline, const Hop& hop, const NetworkLinks& links);

/// Timings of all hops of the pipeline.
std::vector<HopTiming> hop_timings(const ChunkPipeline& pipeline, const NetworkLinks& links);

/// Adds to `reserved`, by link, the largest rate at which all hops of the pipeline send over it at
/// once. The hops have these timings.
void reserve_links(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings,
                   const NetworkLinks& links, std::vector<std::int64_t>& reserved);

/// Whether the links of the route can carry everything reserved on them. Then no flow over the
/// route is ever held back by another.
bool uncontended(Route route, const NetworkLinks& links, const std::vector<std::int64_t>& reserved);

}  // namespace ddpsim
