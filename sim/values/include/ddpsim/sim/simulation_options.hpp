// Everything that decides a step beside workload and machine.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ddpsim/sim/bucket.hpp"
#include "ddpsim/sim/ddp_options.hpp"
#include "ddpsim/sim/optimizer.hpp"
#include "ddpsim/sim/possible_versions.hpp"
#include "ddpsim/sim/rank_slowdown.hpp"
#include "ddpsim/sim/rank_variation.hpp"
#include "ddpsim/sim/units.hpp"

namespace ddpsim {

/// Host and device costs of DDP itself, with the evidence each default rests on. A field is only
/// used where the recording does not already contain that cost.
struct DdpCosts {
  /// Copy kernels move 2 bytes per gradient byte at this share of peak memory bandwidth …
  double copy_bandwidth_share = 0.85;
  /// … after a fixed time per kernel, and follow each other with a gap. Kernels of two ResNet-50
  /// traces (V100, A100): 1.8 us for the small ones, 0.83-0.86 of 900 GB/s from 8 MB, gaps 0.8-1.0
  /// us.
  Duration copy_kernel = Duration::microseconds(1.8);
  Duration kernel_gap = Duration::microseconds(1.0);
  /// In place of both, where gradients live on the host: one copy_ of PyTorch 2.13, of 1 KiB (with a division
  /// 3.3 us; CPU time, from Python).
  Duration host_copy = Duration::microseconds(1.2);
  /// Host time of one AccumulateGrad hook, and of launching one collective (dispatch, two events,
  /// ncclAllReduce). Ranges met in practice: 5-20 us and 30-80 us.
  Duration host_hook = Duration::microseconds(10);
  Duration host_launch = Duration::microseconds(50);
  /// More per launch where a communication hook runs in Python, under the interpreter's lock; met:
  /// 20-100 us.
  Duration host_comm_hook = Duration::microseconds(50);
  /// Of one of the kernels that powerSGD_hook launches from Python, without autograd. Its real hook on tensors of a few
  /// elements, all-reduces done at once, takes 5.4 us a kernel (1.13) and 5.7 us (2.13) without a GPU; some 3 us more with
  /// a GPU's launch.
  Duration host_hook_kernel = Duration::microseconds(8);
  /// torch.linalg.qr of a tall matrix of few columns, on the host as on the GPU: many small kernels, whatever the rows.
  /// pytorch/pytorch#76673 has 110 to 118 us for 4 and 8 columns of 256 to 4096 rows; FlagGems#5586 178 us for 32.
  Duration qr = Duration::microseconds(100);
  Duration qr_column = Duration::microseconds(2.4);
  /// Of one optimizer's step() that steps one parameter, and of each of its kernels (step_kernels). With 2.13 and tensors
  /// of a few elements, without a GPU, it takes 28 us with SGD, 50 with momentum, 104 with Adam, 77 with AdamW.
  Duration host_step = Duration::microseconds(17);
  Duration host_step_kernel = Duration::microseconds(11);
  /// From the host's launch call to the kernel's start on an idle stream: 11.4-13.3 us over 15
  /// all-reduces of a 2 x A100 trace.
  Duration launch_latency = Duration::microseconds(12);
  /// From the event a stream waits for to the waiting kernel's start: 1.2-4.8 us in that trace.
  Duration event_latency = Duration::microseconds(1.2);
  /// Traversal of the autograd graph per parameter under find_unused_parameters (about 3 nodes per
  /// parameter at 0.3 us).
  Duration host_search_per_parameter = Duration::microseconds(1);
  /// Host time of one of the model's kernels: Python's module, dispatch, autograd, launch. NVIDIA measured 20 us from one
  /// elementwise kernel to the next with a V100's host. PyTorch without a GPU, ResNet-50 with tensors of a few elements
  /// on a server's CPU: 1.13 takes 19 us in forward and 13 in backward, 2.13 takes 26 and 19. Steps of ResNets on B200
  /// (64 images each, autocast) shrink with the batch still where 18 us would be the bound. By hosts, not by the
  /// generation of the GPU.
  Duration host_kernel = Duration::microseconds(16);
  /// And of a copy that the reducer launches from C++: the closest tenth lies 6 us apart in a V100 trace, the profiler's
  /// share included.
  Duration host_copy_kernel = Duration::microseconds(6);
};
/// What host_kernel may be: 10 to 26 us.
inline constexpr std::pair<double, double> kHostKernelRange = {0.6, 1.6};

/// Compute and NCCL slow each other while they overlap: compute runs at
///   1 - sm_share * channels / SMs                    while a kernel of NCCL is resident, and
///     - memory_share * its traffic / memory bandwidth   while it transfers as well.
/// Evidence (tests/accuracy/measure_interference.py, the same kernel beside NCCL and alone): V100, 2
/// channels, 15 to 30 GB/s: 1.13 (305 kernels; matrix products 1.06, copies 1.11, other memory-bound
/// ones 1.24), here 1.08 to 1.15. A100, 8 channels, mostly waiting: 1.23 (49 kernels, the middle half
/// 1.00 to 1.33), here 1.08. A100 beside an all-gather: 1.8 to 2.5 (NVIDIA/nccl#1428), here 1.5 to 3. Other
/// architectures: none measured.
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
  DdpOptions ddp;
  DdpCosts costs;
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
  /// Which PyTorch it may be, where nothing says so; only advice uses it. Empty: ddp.torch is certain.
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
};

}  // namespace ddpsim
