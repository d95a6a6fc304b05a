// torch.distributed.algorithms.model_averaging without DDP (2.13).
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// Each rank steps by itself, and the ranks average their parameters now and then:
/// PeriodicModelAverager after an optimizer, without DDP.
struct PeriodicAveraging {
  int period = 4;
  /// Levels in ascending order of period and group size; the last level contains all ranks. If
  /// empty, all ranks average every `period` steps.
  std::vector<AveragingLevel> hierarchy{};

  std::string_view name() const { return "local_sgd"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;

  bool operator==(const PeriodicAveraging&) const = default;
};

}  // namespace ddpsim
