// DDP's options, spelled the same in every command.
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
  /// Micro-batches per step; absent: as the workload was recorded.
  std::optional<int> accumulate;
  CommHook comm_hook = CommHook::none;
  std::optional<std::string> comm_hook_min_mb;
  // Options of powerSGD_hook.
  std::optional<int> matrix_approximation_rank;
  std::optional<double> min_compression_rate;
  // Options of post_localSGD_hook.
  std::optional<int> local_sgd_period;
  std::optional<bool> local_sgd_gradients;
  bool optimizer_in_backward = false;
  bool sync_batchnorm = false;
  std::optional<int> sync_batchnorm_group;
};

/// Adds the options that decide the buckets.
void add_bucket_options(CLI::App& command, DdpArguments& arguments);
/// Adds the other options of a training step.
void add_step_options(CLI::App& command, DdpArguments& arguments);

/// Returns the value of --torch, if given. Throws UsageError.
std::optional<TorchVersion> stated_torch(const std::optional<std::string>& text);

/// Throws UsageError. It does not check whether the PyTorch version has these options: see require_supported.
DdpOptions ddp_options(const DdpArguments& arguments);

/// Parses a list of MiB such as "1,10.5,50". Throws UsageError naming `option` unless all are finite and 0 or more.
std::vector<double> mib_list(const std::string& text, const std::string& option);

}  // namespace ddpsim
