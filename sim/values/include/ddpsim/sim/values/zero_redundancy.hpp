// torch.distributed.optim.ZeroRedundancyOptimizer behind DDP (torch/distributed/optim, 2.13).
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// DDP with torch.distributed.optim.ZeroRedundancyOptimizer.
struct ZeroRedundancy {
  bool parameters_as_bucket_view = false;
  /// Uses hook_with_zero_step: each bucket of DDP belongs to one rank. When the bucket has been
  /// reduced, that rank steps it and broadcasts the result.
  bool overlap_with_ddp = false;
  DdpOptions ddp = {};

  std::string_view name() const { return "zero_redundancy"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();

  bool operator==(const ZeroRedundancy&) const = default;
};

}  // namespace ddpsim
