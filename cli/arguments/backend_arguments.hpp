// Which library runs the collectives, and what is known of it: --backend, --gloo.
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
  std::optional<std::string> gloo;  ///< "process:1.4GBps step:20us …"
};

void add_backend_options(CLI::App& command, BackendArguments& arguments);

/// What --gloo says, in its order. Throws UsageError.
std::vector<StatedGloo> stated_gloo(const BackendArguments& arguments);

}  // namespace ddpsim
