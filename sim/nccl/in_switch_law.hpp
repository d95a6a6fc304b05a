// Terms of the pipeline law for algorithms that reduce inside switches.
#pragma once

#include "pipeline_law.hpp"

namespace ddpsim {

PipelineTerms nvls_all_reduce(const CollectiveChoice& choice, double size, const Cluster& cluster);
PipelineTerms collnet_all_reduce(const CollectiveChoice& choice, double size,
                                 const Cluster& cluster);

}  // namespace ddpsim
