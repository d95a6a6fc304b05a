// The fields of DDP logging data, read and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Keys as PyTorch 1.13 and 2.x write them. Others (environment, time stamps of timers) are
/// ignored. Times are those of the last sampled iteration; both 0 and absent mean "not measured".
struct DdpLogFields {
  std::int64_t rank = 0;
  int world_size = 1;
  std::int64_t iteration = 0;
  std::size_t parameters = 0;  ///< num_parameter_tensors
  Bytes total;                 ///< total_parameter_size_bytes
  std::vector<Dtype> dtypes;   ///< empty if one of them is unknown
  Bytes bucket_cap;
  std::vector<Bytes> bucket_sizes;          ///< as built, in launch order
  std::vector<Bytes> rebuilt_bucket_sizes;  ///< empty: not rebuilt
  /// For each rebuilt bucket, its members in ready order.
  std::vector<std::vector<std::size_t>> rebuilt_members;
  /// Order in the last sampled iteration; may be incomplete.
  std::vector<std::size_t> last_ready_order;
  bool find_unused_parameters = false;
  bool static_graph = false;
  bool gradient_as_bucket_view = false;
  bool broadcast_buffers = true;
  bool has_sync_bn = false;
  std::string backend;
  std::string comm_hook;  ///< empty: none
  std::string module_name;
  std::optional<Duration> forward;
  std::optional<Duration> backward;
  std::optional<Duration> mean_forward;
  std::optional<Duration> mean_backward;
  /// Communication, and copies out of the buckets, after the end of backward compute.
  std::optional<Duration> tail;
};

/// Throws InputError.
DdpLogFields read_ddp_log(std::string_view text, const std::string& file);

}  // namespace ddpsim
