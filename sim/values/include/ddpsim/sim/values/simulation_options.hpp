// Everything that decides a step beside workload and machine.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/bucket.hpp"
#include "ddpsim/sim/values/data_loader.hpp"
#include "ddpsim/sim/values/data_set.hpp"
#include "ddpsim/sim/values/ddp_costs.hpp"
#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/optimizer.hpp"
#include "ddpsim/sim/values/possible_versions.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/rank_slowdown.hpp"
#include "ddpsim/sim/values/rank_variation.hpp"
#include "ddpsim/sim/values/scheme.hpp"
#include "ddpsim/sim/values/uneven_inputs.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

/// Compute and NCCL slow each other while they overlap: compute runs at
///   1 - sm_share * channels / SMs                    while a kernel of NCCL is resident, and
///     - memory_share * its traffic / memory bandwidth   while it transfers as well.
/// Evidence (tests/accuracy/measure_interference.py, the same kernel beside NCCL and alone): V100, 2
/// channels, 15 to 30 GB/s: 1.13 (305 kernels; matrix products 1.06, copies 1.11, other memory-bound
/// ones 1.24), here 1.08 to 1.15. A100, 8 channels, mostly waiting: 1.23 (49 kernels, the middle half
/// 1.00 to 1.33), here 1.08. A100 beside an all-gather: 1.8 to 2.5 (NVIDIA/nccl#1428), here 1.5 to 3. H200, beside
/// blocks that copy (gpu_tables.py): matrix products 1.27 to 1.80, layer norms 0.95 to 1.09, here 1.02 to 1.69.
///
/// NCCL beside compute: in six trainings of two GPUs with and without overlap (damek/cs336-assignment2-systems, 8 GB of
/// gradients at 20 GB/s) what of the all-reduces backward hides is 0.58 to 0.8 of what they move alone in that time, by
/// what share of the step backward is taken for. Published rows are met as well by 0.6 as by 0.8; the curves of the DDP
/// paper's NCCL over sockets by 0.8 to 1.
inline constexpr double kNcclBesideCompute = 0.8;
struct Interference {
  double sm_share = 1;
  double memory_share = 1;
  /// Rate of a transfer while compute runs beside it. Absent: kNcclBesideCompute where its times are those of NCCL
  /// alone, 1 where they were recorded beside compute.
  std::optional<double> communication_rate;
};

struct SimulationOptions {
  TorchVersion torch;
  int accumulate = 1;  ///< micro-batches per step; all but the last run under no_sync()
  Scheme scheme;
  DdpCosts costs;
  /// Which of them are measured, not taken from elsewhere: intervals leave these alone, and name them.
  StatedCosts stated_costs;
  Interference interference;
  bool launch_cost_known = false;  ///< costs.host_kernel is this host's own; only intervals use it
  /// Compute of this GPU relative to the recording's: 2 halves every compute time.
  double compute_scale = 1;
  /// What the scale may be, around compute_scale; only intervals use it. Absent: it is certain.
  std::optional<std::pair<double, double>> compute_scale_range;
  /// How much longer compute takes, as compute_scale has it, than on one GPU alone: what a measured step
  /// shows of several. Only a step's loss uses it.
  double unexplained_compute = 1;
  /// What several ranks cost beyond communication. None: what is simulated is exactly what is set
  /// here; the command line takes kPublishedRankSlowdown.
  RankSlowdown rank_slowdown;
  /// What the slowdown may be; only intervals use it. Absent: it is certain.
  std::optional<std::pair<RankSlowdown, RankSlowdown>> rank_slowdown_range;
  /// Which PyTorch it may be, where nothing says so; only advice uses it. Empty: `torch` is certain.
  std::vector<VersionRange> possible_versions;
  /// SMs of the GPU recorded on, which NCCL kernels in the recording took their share of; 0: as many as
  /// the cluster's.
  int recorded_sms = 0;
  /// Ranks that differ: stragglers, jitter, staggered starts. Each is then simulated on its own.
  RankVariation variation;
  /// Iterations to run from the first one of a training run; 0: the steady step.
  int iterations = 0;
  /// Buckets to use in place of the reducer's own (a partition under study).
  std::optional<std::vector<Bucket>> buckets;
  OptimizerSetting optimizer;
  /// How its batches are loaded. Absent: as recorded.
  std::optional<DataLoader> data_loader;
  std::optional<DataSet> data_set;
  /// The step stands within Join. Absent: every rank has as many inputs, and nobody asks.
  std::optional<UnevenInputs> uneven_inputs;

  /// Of the scheme; as they are where nobody sets them, where it has none.
  const DdpOptions& ddp() const { return ddp_options_of(scheme); }
  /// Precondition: the scheme has them.
  DdpOptions& ddp_to_set();
};

}  // namespace ddpsim
