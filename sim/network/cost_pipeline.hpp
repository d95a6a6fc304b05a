// The pipeline cost model as a chunk pipeline: the same start, the same pace, and the cost model's latency and
// fill shared out over the hops of the shape's longest way, so that alone on the network the
// pipeline takes what the cost model says.
#pragma once

#include "chunk_pipeline.hpp"
#include "pipeline_cost.hpp"

namespace ddpsim {

struct PipelineLoad {
  double wire_bytes = 0;     ///< over each hop, all chunks together
  std::uint32_t chunks = 0;  ///< per hop; 0: as many as keep the pipeline's own fill small
};

/// `shape` must outlive the pipeline.
ChunkPipeline cost_pipeline(const PipelineShape& shape, const PipelineTerms& terms,
                            const PipelineLoad& load);

/// What one operation of `size` bytes sends over each hop of a shape with so many channels.
PipelineLoad load_of(CollectiveKind kind, const CollectiveChoice& choice, int channels,
                     const Cluster& cluster, Bytes size, const PipelineTerms& terms);

}  // namespace ddpsim
