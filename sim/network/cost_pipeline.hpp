// The pipeline cost model as a chunk pipeline, with the same start and the same pace. The cost
// model's latency and fill are distributed over the hops of the shape's longest path. Alone on the
// network, the pipeline therefore takes as long as the cost model says.
#pragma once

#include "chunk_pipeline.hpp"
#include "pipeline_cost.hpp"

namespace ddpsim {

struct PipelineLoad {
  double wire_bytes = 0;  ///< per hop, all chunks together
  /// Per hop. If 0, it is large enough to keep the pipeline's own fill small.
  std::uint32_t chunks = 0;
};

/// `shape` must outlive the result.
ChunkPipeline cost_pipeline(const PipelineShape& shape, const PipelineTerms& terms,
                            const PipelineLoad& load);

/// What one operation of `size` bytes sends over each hop of a shape with `channels` channels.
PipelineLoad load_of(CollectiveKind kind, const CollectiveChoice& choice, int channels,
                     const Cluster& cluster, Bytes size, const PipelineTerms& terms);

}  // namespace ddpsim
