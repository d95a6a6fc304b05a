// DDP's options on the command line, spelled alike in every command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/ddp_options.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct DdpArguments {
  std::optional<std::string> bucket_cap_mb;
  std::optional<std::string> first_bucket_mb;
  std::optional<std::string> bucket_cap_mb_list;
  std::optional<std::string> torch;
  bool find_unused_parameters = false;
  bool static_graph = false;
  bool gradient_as_bucket_view = false;
  bool no_broadcast_buffers = false;
  int process_groups = 1;
  std::optional<int> accumulate;  ///< absent: as the workload was recorded
  CommHook comm_hook = CommHook::none;
  std::optional<std::string> comm_hook_min_mb;
  std::optional<int> matrix_approximation_rank;  ///< of powerSGD_hook
  std::optional<double> min_compression_rate;
  std::optional<int> local_sgd_period;  ///< of post_localSGD_hook
  std::optional<bool> local_sgd_gradients;
  bool optimizer_in_backward = false;
  bool sync_batchnorm = false;
  std::optional<int> sync_batchnorm_group;
};

void add_bucket_options(CLI::App& command, DdpArguments& arguments);
/// Those of a running step, beyond what decides the buckets.
void add_step_options(CLI::App& command, DdpArguments& arguments);

/// The value of --torch; absent where it was not given. Throws UsageError.
std::optional<TorchVersion> stated_torch(const std::optional<std::string>& text);

/// Throws UsageError. Combinations a version lacks are checked apart: see require_supported.
DdpOptions ddp_options(const DdpArguments& arguments);

/// "1,10.5,50" -> MiB; finite and not negative, else UsageError naming `option`.
std::vector<double> mib_list(const std::string& text, const std::string& option);

}  // namespace ddpsim
