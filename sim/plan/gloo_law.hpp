#pragma once

#include "ddpsim/sim/collective_model.hpp"

namespace ddpsim {

/// Collectives that fill a process, a host or the network together.
double gloo_collectives_to_fill(const GlooModel& model);

CollectivePlan gloo_plan(const GlooModel& model, CollectiveKind kind, Bytes size);

}  // namespace ddpsim
