// Multi-GPU overhead: the time that several GPUs add to a step, apart from communication, DDP's
// copies and DDP's host time. Each term is a share of the step's compute time. The names in the
// formula are fields of RankSlowdown.
//
//   slowest GPU   gpu_spread * E[largest of n standard normals]   all ranks wait for it
//   unexplained   one_gpu                                         under DDP on one GPU
//                 several_gpus + several_nodes * (1 - 1/nodes)    on several ranks
//                   + per_doubling * log2(nodes)
//
// The unexplained part is lost once per step, in the micro-batch whose gradients are all-reduced.
// So a step that accumulates many micro-batches loses little more than the wait for the slowest
// GPU. BERT-large on 8 A100s loses 1.1 to 2.3 % with 32
// to 64 micro-batches (NVIDIA DeepLearningExamples), Megatron on 2 to 16 B200s 0.4 to 3.6 % with
// 32.
//
// GPUs of one model differ in speed, and the same GPU stays slow or fast. The faster ones wait. On
// 392 V100s, the time of a matrix product varied by 0.12 % on one GPU, and by 2.0 % between GPUs
// (hal-uw/blox-pal, TACC Longhorn). GPUs differ when power limits them, so memory-bound kernels
// hardly vary (0.03 to 0.1 %).
//
// All terms are concave in the number of ranks. A step that was recorded on several GPUs already
// contains their overhead, so only the difference is added (recorded_shares).
#pragma once

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

struct RankSlowdown {
  /// Standard deviation of the speed of GPUs of one model: 0.015.
  double gpu_spread = 0;
  /// Under DDP on a single GPU, instead of the three below.
  double one_gpu = 0;
  double several_gpus = 0;   ///< from the second rank on
  double several_nodes = 0;  ///< more, times 1 - 1/nodes
  double per_doubling = 0;   ///< more, for each doubling of the nodes
  /// Number of micro-batches over which the unexplained terms above are spread, since they count
  /// once per all-reduce. 0: those accumulated.
  int shared_by = 0;
  /// Share on several ranks, whatever is accumulated. Set instead of all the above.
  double given = 0;
  bool operator==(const RankSlowdown&) const = default;
};

/// How much longer compute takes on one of the ranks that a step waits for, as shares of compute.
struct SlowdownShares {
  double slowest_gpu = 0;
  double unexplained = 0;
  /// Factor on compute, rounded to whole millionths so that differences in the last bit of log2
  /// between platforms do not show.
  double slowdown() const;
};

/// Spread for matrix products limited by power: how far the slowest of a node's GPUs lies above the
/// fleet's median, with GPUs drawn again from measured ones. Data: hal-uw/blox-pal and
/// mghpcc/aicr-benchmarks; tests/accuracy/rank_costs.py. V100 1.5, B200 1.0 to 1.2, RTX PRO 6000
/// 0.7 %; trainings 0.5 to 1.2 %. Other GPUs: the middle of these.
double usual_gpu_spread(const GpuModel& gpu);
/// Range as factors on the usual spread. The lower end is for memory-bound kernels, the upper end
/// for fleets with throttled GPUs.
inline constexpr double kLeastGpuSpread = 0;
inline constexpr double kMostGpuSpread = 1.6;

/// Residual of 129 published steps on 2 to 16 GPUs of one node, relative to the step of one GPU.
/// The median is 2.6 %, and the middle 80 % are -1.5 to 9 %. Well-tuned stacks (NVIDIA's,
/// OneFlow's) show nothing.
///
/// Several nodes add 7 % in the median of 14 stacks, 5.5 % in the five of PyTorch. Two stacks show
/// less than nothing, four over 20 %. Nearly all of it appears on 2 and 4 nodes. Beyond that, four
/// settings of one stack grow by 0.8 to 3.2 percentage points per doubling from 4 to 32 nodes. Two
/// settings of another stack do not grow from 4 to 16 nodes (one source). MLPerf's ResNet grows by
/// 0.8 from 2 to 16.
///
/// DDP on one GPU costs 1.3 % (PyTorch's benchmark, two models).
/// tests/accuracy/published_scaling.py shows how well this predicts a source that was left out.
inline constexpr RankSlowdown kPublishedRankSlowdown{
    .one_gpu = 0.013, .several_gpus = 0.026, .several_nodes = 0.035, .per_doubling = 0.01};
inline constexpr RankSlowdown kLeastPublishedRankSlowdown{.several_gpus = -0.015,
                                                          .several_nodes = -0.03};
inline constexpr RankSlowdown kMostPublishedRankSlowdown{
    .one_gpu = 0.026, .several_gpus = 0.09, .several_nodes = 0.16, .per_doubling = 0.015};

/// E[largest of n standard normals], within 1 % between powers of two.
double expected_maximum(int count);

/// Shares for a step of `accumulate` micro-batches.
SlowdownShares slowdown_shares(const RankSlowdown& terms, const Cluster& cluster,
                               int accumulate = 1);

/// Shares relative to the recording's compute. What the recording contains of its own job's
/// slowdown is not added again. No rank computes faster because fewer ranks wait for it.
SlowdownShares shares_beyond_recording(const RankSlowdown& terms, const Workload& workload,
                                       const Cluster& cluster, int accumulate = 1);

}  // namespace ddpsim
