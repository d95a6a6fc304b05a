// What a rank's memory must hold: --optimizer, --master-weights, and --memory, beyond which there is no answer.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/optimizer.hpp"
#include "ddpsim/sim/values/workload.hpp"

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

/// --memory; absent where it was not given. Throws UsageError.
std::optional<Bytes> memory_limit(const MemoryArguments& arguments);

/// What the workload does not say of memory, from the model of the catalogue with its parameters: how much forward
/// keeps for backward, where it is a model of images at a known batch, and the usual optimizer; Adam for all others.
OptimizerSetting know_memory(const MemoryArguments& arguments, Workload& workload);

/// How much of it there is: --memory, else what the cluster's GPU has.
struct MemoryThere {
  Bytes bytes;
  bool stated = false;
};

/// The memory does not suffice, or may not.
struct MemoryProblem {
  Diagnostic diagnostic;
  std::string remedy;  ///< with which it would fit; part of the diagnostic's hint
  /// --memory is exceeded, or nobody ran the job so: there is no answer. Else it is a warning.
  bool refused = false;
};

/// `workload`: as given on the command line. Absent where all fits.
std::optional<MemoryProblem> memory_problem(const PeakMemory& peak, const MemoryThere& there,
                                            const Job& job, const std::string& workload);

}  // namespace ddpsim
