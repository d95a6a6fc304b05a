// Everything that decides a step apart from workload and machine.
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

/// Compute and NCCL slow each other while they overlap. Compute runs at
///   1 - sm_share * channels / SMs                      while an NCCL kernel is resident, minus
///       memory_share * its traffic / memory bandwidth  while it also transfers.
///
///
/// Evidence for the slowdown of compute is the same kernel measured while NCCL runs and alone
/// (tests/accuracy/measure_interference.py):
/// - V100, 2 channels at 15 to 30 GB/s: 1.13 for 305 kernels (matrix products 1.06, copies 1.11,
///   other memory-bound kernels 1.24). ddpsim: 1.08 to 1.15.
/// - A100, 8 channels that mostly wait: 1.23 for 49 kernels (the middle half 1.00 to 1.33). ddpsim:
///   1.08.
/// - A100 during an all-gather: 1.8 to 2.5 (NVIDIA/nccl#1428). ddpsim: 1.5 to 3.
/// - H200 while other blocks copy (gpu_tables.py): matrix products 1.27 to 1.80, layer norms 0.95
///   to 1.09. ddpsim: 1.02 to 1.69.
///
/// Evidence for the slowdown of NCCL, kNcclBesideCompute: six trainings on two GPUs with and
/// without overlap (damek/cs336-assignment2-systems, 8 GB of gradients at 20 GB/s). While backward
/// runs, their all-reduces move 0.58 to 0.8 of what they move alone. The range comes from how much
/// of the step counts as backward. Published rows fit 0.6 as well as 0.8. The DDP paper's curves of
/// NCCL over sockets fit 0.8 to 1.
inline constexpr double kNcclBesideCompute = 0.8;
struct Interference {
  double sm_share = 1;
  double memory_share = 1;
  /// Rate of a transfer while compute runs, relative to the transfer alone. Absent: 1 if the times
  /// of collectives were recorded during compute, otherwise kNcclBesideCompute.
  std::optional<double> communication_rate;
};

struct SimulationOptions {
  TorchVersion torch;
  /// Micro-batches per step. All but the last run under no_sync().
  int accumulate = 1;
  Scheme scheme;
  DdpCosts costs;
  /// The costs that were measured, not assumed. Intervals do not vary these, and name them.
  StatedCosts stated_costs;
  Interference interference;
  /// costs.host_kernel was measured on this host. Only intervals use this.
  bool launch_cost_known = false;
  /// Compute of this GPU relative to the recording's: 2 halves every compute time.
  double compute_scale = 1;
  /// Range around compute_scale; only intervals use it. Absent: the scale is certain.
  std::optional<std::pair<double, double>> compute_scale_range;
  /// Factor on compute, at compute_scale, compared with one GPU alone: the multi-GPU overhead that
  /// a measured step shows. Only the attribution of a step's loss uses it.
  double unexplained_compute = 1;
  /// Multi-GPU overhead. Empty here, so that a simulation computes exactly what its options say;
  /// the command line sets kPublishedRankSlowdown.
  RankSlowdown rank_slowdown;
  /// Range of the slowdown; only intervals use it. Absent: the slowdown is certain.
  std::optional<std::pair<RankSlowdown, RankSlowdown>> rank_slowdown_range;
  /// PyTorch versions that the job may run if nobody states one; only recommendations use them.
  /// Empty: `torch` is certain.
  std::vector<VersionRange> possible_versions;
  /// SMs of the GPU recorded on; NCCL kernels in the recording took their share of these. 0: as
  /// many as the cluster's GPU has.
  int recorded_sms = 0;
  /// Stragglers, jitter and staggered starts. If any is set, each rank is simulated by itself.
  RankVariation variation;
  /// Iterations to simulate from the start of training. 0: one step in the steady state.
  int iterations = 0;
  /// Buckets to use instead of the reducer's own (a partition under study).
  std::optional<std::vector<Bucket>> buckets;
  OptimizerSetting optimizer;
  /// How batches are loaded. Absent: as recorded.
  std::optional<DataLoader> data_loader;
  std::optional<DataSet> data_set;
  /// The step runs under the Join context manager. Absent: all ranks have equally many inputs.
  std::optional<UnevenInputs> uneven_inputs;

  /// DDP's options of the scheme; the defaults if it has none.
  const DdpOptions& ddp() const { return ddp_options_of(scheme); }
  /// Precondition: the scheme has options of DDP.
  DdpOptions& ddp_to_set();
};

}  // namespace ddpsim
