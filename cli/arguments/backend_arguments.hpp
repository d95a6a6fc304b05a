// --backend and --gloo: which library runs the collectives, and the limits of gloo.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/jobs/job_request.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct BackendArguments {
  Backend backend = Backend::nccl;
  /// Value of --gloo: "process:1.4GBps step:20us …".
  std::optional<std::string> gloo;
};

void add_backend_options(CLI::App& command, BackendArguments& arguments);

/// Returns the values that --gloo states, in the order given. Throws UsageError.
std::vector<StatedGloo> stated_gloo(const BackendArguments& arguments);

}  // namespace ddpsim
