// Links as plain numbers, and what a hop over them takes when nothing else is there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chunk_pipeline.hpp"
#include "ddpsim/sim/values/fabric.hpp"

namespace ddpsim {

struct NetworkLinks {
  std::vector<std::int64_t> capacities;  ///< bytes per second, by link
  std::vector<Duration> latencies;       ///< beside the pipelines' own, by link
  std::vector<LinkId> route_links;       ///< what a Route is a slice of

  std::span<const LinkId> of(Route route) const {
    return std::span(route_links).subspan(route.first, route.count);
  }
};

__extension__ using TransferAmount = unsigned __int128;  ///< bytes times picoseconds per second

/// Of one chunk on the wire, exactly.
TransferAmount chunk_amount(const ChunkPipeline& pipeline);

struct HopTiming {
  std::int64_t ceiling = 1;  ///< bytes per second: the pipeline's, or of the narrowest link
  Duration send;             ///< one chunk at that rate
  Duration latency;          ///< the pipeline's and that of every link
};
HopTiming hop_timing(const ChunkPipeline& pipeline, const Hop& hop, const NetworkLinks& links);

/// Of all hops of the pipeline.
std::vector<HopTiming> hop_timings(const ChunkPipeline& pipeline, const NetworkLinks& links);

/// By link: the most that all hops of the pipeline, which have these timings, send over it at once,
/// added to `reserved`.
void reserve_links(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings,
                   const NetworkLinks& links, std::vector<std::int64_t>& reserved);

/// Whether the links of the route carry all that is reserved on them: then nothing sent over the
/// route is ever held back by another.
bool uncontended(Route route, const NetworkLinks& links, const std::vector<std::int64_t>& reserved);

}  // namespace ddpsim
