// torch.nn.DataParallel (torch/nn/parallel).
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// torch.nn.DataParallel: one process with a thread for each GPU of its node. A recording does not
/// contain the sizes of a model's inputs and outputs, so the user states them.
struct DataParallel {
  /// Inputs of one GPU's share of the batch. They lie on GPU 0 before they are scattered.
  Bytes inputs;
  /// Outputs of one GPU's share. They are gathered on GPU 0 for the loss.
  Bytes outputs;

  std::string_view name() const { return "data_parallel"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();

  bool operator==(const DataParallel&) const = default;
};

}  // namespace ddpsim
