// DistributedDataParallel with DdpOptions.
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// torch.nn.parallel.DistributedDataParallel. Its options are set by command-line options of their
/// own, not in --scheme.
struct Ddp {
  DdpOptions ddp;

  std::string_view name() const { return "ddp"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();

  bool operator==(const Ddp&) const = default;
};

}  // namespace ddpsim
