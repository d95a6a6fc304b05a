// Options of a reducer: those of DDP, and those that every scheme has.
#pragma once

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

struct ReducerOptions : DdpOptions {
  TorchVersion torch;
  int accumulate = 1;  ///< micro-batches per step; all but the last run under no_sync()
};

}  // namespace ddpsim
