// A shortcut of the flow network, exact by proof; chunk_waves.hpp has the other.
//
// While no link can hold anything back, a hop's next chunk leaves at the latest of a few instants,
// each a constant time after another chunk left (chunk_pipeline.hpp):
//
//   leave(h, k) = max( leave(h, k - 1) + send(h),
//                      leave(p, k - dependency) + send(p) + latency(p)   for each p that h waits for,
//                      leave(h, k - 1) + send(h) + latency(h)     in a rendezvous )
//
// Instants depend on the previous chunk's alone, by sums and maxima. So when the instants of chunk k
// are those of an earlier chunk j, all later by one and the same time, chunk k + i will repeat chunk
// j + i for ever, and whole periods may be skipped. Alike hops repeat from the second chunk on; hops
// that differ take longer or never repeat, and are then gone through chunk by chunk. Nothing is
// assumed: a period is only used once it was seen.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "network_links.hpp"

namespace ddpsim {

/// From start to the last delivery of the pipeline alone on the links; absent when its own hops may
/// hold each other back.
std::optional<Duration> uncontended_duration(const ChunkPipeline& pipeline,
                                             const NetworkLinks& links);

/// From the first chunks to the last delivery of these hops, which wait for none but each other and
/// are never held back; `timings` by hop of the whole shape.
Duration uncontended_end(const ChunkPipeline& pipeline, const std::vector<HopTiming>& timings,
                         std::vector<std::uint32_t> hops);

}  // namespace ddpsim
