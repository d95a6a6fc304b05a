// --launch-cost and --cuda-graph: the time that the host needs to launch kernels.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/jobs/job_request.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct HostArguments {
  std::optional<std::string> launch_cost;
  bool cuda_graph = false;
};

void add_host_options(CLI::App& command, HostArguments& arguments);

/// Throws UsageError.
HostRequest host_request(const HostArguments& arguments);

}  // namespace ddpsim
