// What a reducer runs under: DDP's options, and what every scheme is asked for.
#pragma once

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

struct ReducerOptions : DdpOptions {
  TorchVersion torch;
  int accumulate = 1;  ///< micro-batches per step; all but the last run under no_sync()
};

}  // namespace ddpsim
