// Terms of the pipeline cost model for algorithms that reduce inside switches.
#pragma once

#include "pipeline_cost.hpp"

namespace ddpsim {

/// For all-reduces and, on one node, all-gathers and reduce-scatters.
PipelineTerms nvls_terms(CollectiveKind kind, const CollectiveChoice& choice, double size,
                         const Cluster& cluster);
PipelineTerms collnet_all_reduce(const CollectiveChoice& choice, double size,
                                 const Cluster& cluster);

}  // namespace ddpsim
