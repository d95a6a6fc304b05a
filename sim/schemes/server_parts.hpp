// Assigns parts of parameters to servers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/scheme.hpp"

namespace ddpsim {

struct ServerPart {
  std::size_t parameter = 0;
  std::size_t part = 0;  ///< index within the parameter
  std::size_t parts = 1;
  std::size_t server = 0;
  Bytes bytes;
  std::string name(const Workload& workload) const;  ///< "fc6.weight", "fc6.weight[3]"
};

/// Parts in the order of definition, for parameters that get a gradient and are not ignored.
std::vector<ServerPart> server_parts(const Job& job, const ParameterServer& scheme, int servers);

}  // namespace ddpsim
