// How JSON documents write which modules keep activations.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

const Described<KeptBy>& described_kept_by();

}  // namespace ddpsim
