// --optimizer, --master-weights and --memory: what each GPU must hold, and its memory. A job that needs more has no answer.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/jobs/job_request.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct MemoryArguments {
  std::optional<Optimizer> optimizer;
  bool master_weights = false;
  std::optional<std::string> limit;
};

void add_memory_options(CLI::App& command, MemoryArguments& arguments);

/// Throws UsageError.
MemoryRequest memory_request(const MemoryArguments& arguments);

}  // namespace ddpsim
