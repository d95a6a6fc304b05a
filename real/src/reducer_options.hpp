// Options of a reducer: those of DDP, and those that every scheme has.
#pragma once

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

struct ReducerOptions : DdpOptions {
  TorchVersion torch;
  /// Micro-batches per step. All but the last run under no_sync().
  int accumulate = 1;
};

}  // namespace ddpsim
