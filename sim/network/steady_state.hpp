// A shortcut of the flow network that is provably exact; chunk_waves.hpp has the other one.
//
// While no link can hold anything back, a hop's next chunk leaves at the latest of a few times.
// Each is a constant time after another chunk left (chunk_pipeline.hpp):
//
//   leave(h, k) = max( leave(h, k - 1) + send(h),
//                      leave(p, k - dependency) + send(p) + latency(p)   for each p that h waits for,
//                      leave(h, k - 1) + send(h) + latency(h)     in a rendezvous )
//
// These times depend only on the previous chunk's, by sums and maxima. Suppose the times of chunk k
// are those of an earlier chunk j, all later by the same amount. Then chunk k + i repeats chunk j +
// i forever, and whole periods can be skipped.
//
// Equal hops repeat from the second chunk on. Hops that differ take longer or never repeat, and are
// then computed chunk by chunk. Nothing is assumed: a period is used only after it was seen.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "network_links.hpp"

namespace ddpsim {

/// Time from start to the last delivery of the pipeline alone on the links. Absent if its own hops
/// may hold each other back.
std::optional<Duration> uncontended_duration(const ChunkPipeline& pipeline,
                                             const NetworkLinks& links);

/// Time from the first chunks to the last delivery of these hops. They wait only for each other and
/// are never held back. `timings` are by hop of the whole shape.
Duration uncontended_end(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings,
                         std::vector<std::uint32_t> hops);

}  // namespace ddpsim
