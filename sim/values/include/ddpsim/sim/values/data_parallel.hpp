// torch.nn.DataParallel (torch/nn/parallel).
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// torch.nn.DataParallel: one process, a thread for each GPU of its node. A recording does not say how large a model's
/// inputs and outputs are.
struct DataParallel {
  Bytes
      inputs;  ///< of one GPU's share of the batch, where they lie on GPU 0 before they are scattered
  Bytes outputs;  ///< of one GPU's share, gathered on GPU 0 for the loss

  std::string_view name() const { return "data_parallel"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();

  bool operator==(const DataParallel&) const = default;
};

}  // namespace ddpsim
