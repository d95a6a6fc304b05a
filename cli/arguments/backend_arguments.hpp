// Which library runs the collectives, and what is known of it: --backend, --gloo.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/gloo.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "typed_line.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct BackendArguments {
  Backend backend = Backend::nccl;
  std::optional<std::string> gloo;  ///< "process:1.4GBps step:20us …"
};

void add_backend_options(CLI::App& command, BackendArguments& arguments);

/// Throws UsageError for options that do not go together, and for a --gloo it cannot read.
void require_one_backend(const BackendArguments& arguments, const TypedLine& typed, bool flow);
/// What is stated on top of `links`; what of it logs had told goes to `replaced`, a sentence each.
GlooLinks gloo_links(const BackendArguments& arguments, GlooLinks links = {},
                     const GlooCalibration* calibration = nullptr,
                     std::vector<std::string>* replaced = nullptr);

/// Throws UsageError where the links are so slow that the step could not be held.
void require_sane_rates(const GlooLinks& links, const Cluster& cluster, const Workload& workload);

}  // namespace ddpsim
