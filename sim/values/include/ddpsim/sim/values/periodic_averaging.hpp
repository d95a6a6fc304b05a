// torch.distributed.algorithms.model_averaging without DDP (2.13).
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// Ranks step by themselves and average their parameters now and then: PeriodicModelAverager behind an optimizer,
/// without DDP.
struct PeriodicAveraging {
  int period = 4;
  std::vector<AveragingLevel>
      hierarchy{};  ///< periods and group sizes ascending, the last being of all ranks; empty: all, every `period`

  std::string_view name() const { return "local_sgd"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;

  bool operator==(const PeriodicAveraging&) const = default;
};

}  // namespace ddpsim
