// The user's side of DistributedDataParallel: what can be passed, set or written in a script.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

/// What DDP does with a full bucket: its own all-reduce; one of the hooks of default_hooks.py, which cast it to 16 bits,
/// divide it there by the number of ranks, all-reduce that and cast back; powerSGD_hook.py's, which all-reduces two
/// factors of low rank in place of each matrix, one behind the other; or post_localSGD_hook.py's, which all-reduces within
/// a node alone and leaves it to a model averager to bring parameters together.
enum class CommHook { none, fp16_compress, bf16_compress, power_sgd, post_local_sgd };
std::span<const CommHook> comm_hooks();
/// "fp16_compress_hook", as PyTorch names it; empty for none.
std::string_view name_of(CommHook hook);
/// "fp16", as --comm-hook takes it.
std::string_view word_of(CommHook hook);

/// Its host waits until the device has reduced the bucket: backward stands still meanwhile.
bool stops_backward(CommHook hook);

/// PowerSGDState as passed; what else it takes is as PyTorch sets it (error feedback and warm start on, tensors of one
/// shape not batched).
struct PowerSgd {
  int matrix_approximation_rank = 1;
  double min_compression_rate = 2;
  bool operator==(const PowerSgd&) const = default;
};

/// PostLocalSGDState and PeriodicModelAverager, once start_localSGD_iter and warmup_steps are past. The subgroups are
/// PyTorch's own: a node each.
struct LocalSgd {
  int period = 4;                  ///< steps from one averaging of all parameters to the next
  bool averages_gradients = true;  ///< post_local_gradient_allreduce
  bool operator==(const LocalSgd&) const = default;
};

struct DdpOptions {
  /// bucket_cap_mb in MiB, as passed. Absent is PyTorch's default, which is *not* the same as 25.
  std::optional<double> bucket_cap_mb;
  /// torch.distributed._DEFAULT_FIRST_BUCKET_BYTES, in MiB. Absent: 1 MiB.
  std::optional<double> first_bucket_mb;
  /// bucket_cap_mb_list (2.11+): one limit per bucket, the last repeats. Empty: not passed.
  std::vector<double> bucket_cap_mb_list;
  bool find_unused_parameters = false;
  bool static_graph = false;
  bool gradient_as_bucket_view = false;
  bool broadcast_buffers = true;
  /// torch.distributed._round_robin_process_groups of so many: the k-th collective goes to group k
  /// mod n.
  int process_groups = 1;
  CommHook comm_hook = CommHook::none;
  /// Of the hooks that cast, in MiB: smaller buckets are all-reduced as they are. PyTorch has no such hook, but takes one.
  double comm_hook_min_mb = 0;
  PowerSgd power_sgd;  ///< of CommHook::power_sgd, once start_powerSGD_iter is past
  LocalSgd local_sgd;  ///< of CommHook::post_local_sgd
  /// torch.distributed.optim._apply_optimizer_in_backward: each bucket's optimizer steps as soon as it is reduced.
  bool optimizer_in_backward = false;
  bool sync_batchnorm = false;  ///< SyncBatchNorm.convert_sync_batchnorm
  /// Ranks of each of its process groups, which are others than DDP's. Absent: over DDP's own.
  std::optional<int> sync_batchnorm_group;
  bool operator==(const DdpOptions&) const = default;
};

/// Why these options cannot be used with this version, naming the option and the first version that
/// has it; absent when they can. `static_graph since 1.9`, and so on.
std::optional<std::string> unsupported(const DdpOptions& options, TorchVersion torch);

/// torch.distributed._DEFAULT_FIRST_BUCKET_BYTES can be assigned.
bool first_bucket_tunable(TorchVersion version);
/// A bucket_cap_mb that is passed holds for the first bucket too.
bool cap_holds_for_first_bucket(TorchVersion version);
bool has_bucket_cap_mb_list(TorchVersion version);

/// The first release of each set of rules by which buckets form in the steady step, oldest first: never
/// rebuilt; rebuilt; a cap that is passed holds for the first bucket, too.
std::span<const TorchVersion> bucketing_eras();

/// Byte limits for the bucket assignment function, in the order it consumes them.
struct BucketLimits {
  std::vector<Bytes> construction;
  std::vector<Bytes> rebuild;
  /// Iteration (from 1) that first runs on rebuilt buckets; absent where they are never rebuilt.
  std::optional<int> rebuilt_from;
};

/// The limits that this version derives from its options (reference: torch/nn/parallel/
/// distributed.py of 1.4, 1.13, 2.4, 2.5+ and reducer.cpp).
BucketLimits bucket_limits(const DdpOptions& options, TorchVersion torch);

/// Sizes at which what is cut behind DDP's back closes: pieces of DDPOptimizer (_DEFAULT_FIRST_BUCKET_BYTES, then
/// DDP's bucket_bytes_cap), buckets that Inductor fuses (1 MiB, then bucket_cap_mb in whole MiB). A cap that is passed is
/// none for the first, whatever the version. Of a list of caps the greatest holds.
struct CutLimits {
  Bytes first;
  Bytes cap;
  bool operator==(const CutLimits&) const = default;
};
CutLimits piece_limits(const DdpOptions& options);
CutLimits fusion_limits(const DdpOptions& options);

}  // namespace ddpsim
