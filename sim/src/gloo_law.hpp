#pragma once

#include "ddpsim/sim/collective.hpp"

namespace ddpsim {

CollectivePlan gloo_plan(const GlooModel& model, CollectiveKind kind, Bytes size);

}  // namespace ddpsim
