#pragma once

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Collectives that fill a process, a host or the network together.
double gloo_collectives_to_fill(const GlooModel& model, const Cluster& cluster);

/// At which one process sends to another host, whatever it sends.
Bandwidth gloo_link(const GlooModel& model, const Cluster& cluster);
/// One message between hosts, however few bytes.
Duration gloo_message(const GlooModel& model, const Cluster& cluster);

CollectivePlan gloo_plan(const GlooModel& model, const Cluster& cluster, CollectiveKind kind,
                         Bytes size);

}  // namespace ddpsim
