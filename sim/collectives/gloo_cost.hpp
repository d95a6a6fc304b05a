#pragma once

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Number of collectives that together fill a process, a host or the network.
double gloo_collectives_to_fill(const GlooModel& model, const Cluster& cluster);

/// Rate at which one process sends to another host.
Bandwidth gloo_link(const GlooModel& model, const Cluster& cluster);
/// Latency of a message between hosts, regardless of its size.
Duration gloo_message(const GlooModel& model, const Cluster& cluster);

CollectivePlan gloo_plan(const GlooModel& model, const Cluster& cluster, CollectiveKind kind,
                         Bytes size);

}  // namespace ddpsim
