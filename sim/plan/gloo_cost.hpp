#pragma once

#include "ddpsim/sim/job.hpp"

namespace ddpsim {

/// Collectives that fill a process, a host or the network together.
double gloo_collectives_to_fill(const GlooModel& model, const Cluster& cluster);

CollectivePlan gloo_plan(const GlooModel& model, const Cluster& cluster, CollectiveKind kind,
                         Bytes size);

}  // namespace ddpsim
