// The options of DistributedDataParallel: what a user can pass, set or write in a script.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

/// What DDP does with a full bucket.
///
/// - none: DDP's own all-reduce.
/// - fp16_compress, bf16_compress (default_hooks.py): cast to 16 bits, divide by the number of
///   ranks, all-reduce and cast back.
/// - power_sgd (powerSGD_hook.py): all-reduces two low-rank factors of each matrix, one after the
///   other.
/// - post_local_sgd (post_localSGD_hook.py): all-reduces only within a node; a model averager then
///   averages the parameters of all ranks.
enum class CommHook { none, fp16_compress, bf16_compress, power_sgd, post_local_sgd };
std::span<const CommHook> comm_hooks();
/// PyTorch's name, "fp16_compress_hook"; empty for none.
std::string_view name_of(CommHook hook);
/// The word that --comm-hook takes: "fp16".
std::string_view word_of(CommHook hook);

/// Whether the hook makes the host wait until the device has reduced the bucket, so that backward
/// stops meanwhile.
bool stops_backward(CommHook hook);

/// Arguments of PowerSGDState. All others have PyTorch's defaults: error feedback and warm start
/// on, tensors of one shape not batched.
struct PowerSgd {
  int matrix_approximation_rank = 1;
  double min_compression_rate = 2;
  bool operator==(const PowerSgd&) const = default;
};

/// Arguments of PostLocalSGDState and PeriodicModelAverager, after start_localSGD_iter and
/// warmup_steps. The subgroups are PyTorch's own: one per node.
struct LocalSgd {
  /// Steps from one averaging of all parameters to the next.
  int period = 4;
  bool averages_gradients = true;  ///< post_local_gradient_allreduce
  bool operator==(const LocalSgd&) const = default;
};

struct DdpOptions {
  /// bucket_cap_mb in MiB, as passed. Absent: PyTorch's default, which is *not* the same as passing
  /// 25.
  std::optional<double> bucket_cap_mb;
  /// torch.distributed._DEFAULT_FIRST_BUCKET_BYTES, in MiB. Absent: 1 MiB.
  std::optional<double> first_bucket_mb;
  /// bucket_cap_mb_list (2.11+): one limit per bucket; the last one repeats. Empty: not passed.
  std::vector<double> bucket_cap_mb_list;
  bool find_unused_parameters = false;
  bool static_graph = false;
  bool gradient_as_bucket_view = false;
  bool broadcast_buffers = true;
  /// Number of groups of torch.distributed._round_robin_process_groups. The k-th collective goes to
  /// group k mod n.
  int process_groups = 1;
  CommHook comm_hook = CommHook::none;
  /// For hooks that cast, in MiB: smaller buckets are all-reduced without a cast. PyTorch has no
  /// such hook, but a script can register one.
  double comm_hook_min_mb = 0;
  /// For CommHook::power_sgd, after start_powerSGD_iter.
  PowerSgd power_sgd;
  LocalSgd local_sgd;  ///< for CommHook::post_local_sgd
  /// torch.distributed.optim._apply_optimizer_in_backward: each bucket's optimizer steps as soon as it is reduced.
  bool optimizer_in_backward = false;
  bool sync_batchnorm = false;  ///< SyncBatchNorm.convert_sync_batchnorm
  /// Ranks in each process group of SyncBatchNorm, if it does not use DDP's own. Absent: DDP's.
  std::optional<int> sync_batchnorm_group;
  bool operator==(const DdpOptions&) const = default;
};

/// Why this version does not support these options: names the option and the first version that has
/// it. Absent if it does.
std::optional<std::string> unsupported(const DdpOptions& options, TorchVersion torch);

/// Whether torch.distributed._DEFAULT_FIRST_BUCKET_BYTES can be assigned.
bool first_bucket_tunable(TorchVersion version);
/// Whether a bucket_cap_mb that is passed holds for the first bucket too.
bool cap_holds_for_first_bucket(TorchVersion version);
bool has_bucket_cap_mb_list(TorchVersion version);

/// The first release of each set of rules by which buckets form in the steady step, oldest first.
/// The sets: buckets are never rebuilt; they are rebuilt; a cap that is passed holds for the first
/// bucket, too.
std::span<const TorchVersion> bucketing_eras();

/// Byte limits for the bucket assignment function, in the order it consumes them.
struct BucketLimits {
  std::vector<Bytes> construction;
  std::vector<Bytes> rebuild;
  /// First iteration that runs on rebuilt buckets, counted from 1. Absent if they are never
  /// rebuilt.
  std::optional<int> rebuilt_from;
};

/// The limits that this version derives from its options (source: torch/nn/parallel/distributed.py
/// of 1.4, 1.13, 2.4, 2.5+ and reducer.cpp).
BucketLimits bucket_limits(const DdpOptions& options, TorchVersion torch);

/// Sizes at which torch.compile closes its own pieces or buckets. A cap that is passed does not
/// hold for the first one, whatever the version. From a list of caps, the largest one holds.
struct CutLimits {
  Bytes first;
  Bytes cap;
  bool operator==(const CutLimits&) const = default;
};
/// Pieces of DDPOptimizer: _DEFAULT_FIRST_BUCKET_BYTES, then DDP's bucket_bytes_cap.
CutLimits piece_limits(const DdpOptions& options);
/// Buckets that Inductor fuses: 1 MiB, then bucket_cap_mb in whole MiB.
CutLimits fusion_limits(const DdpOptions& options);

}  // namespace ddpsim
