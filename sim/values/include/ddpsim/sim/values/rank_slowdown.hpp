// What several GPUs cost a step beyond communication, DDP's copies and its host: relative to compute.
//
//   slowest GPU   gpu_spread * E[largest of n standard normals]                the step lasts as long as it takes
//   unexplained   one_gpu                                                      under DDP alone
//                 several_gpus + several_nodes * (1 - 1/nodes)                 on several ranks
//                   + per_doubling * log2(nodes)
//
// What is unexplained belongs to the micro-batch that all-reduces: steps that accumulate many lose the slowest GPU's part
// alone (BERT-large on 8 A100s 1.1 to 2.3 % of 32 to 64 micro-batches, NVIDIA DeepLearningExamples; Megatron on 2 to 16
// B200s 0.4 to 3.6 % of 32).
//
// GPUs of one model compute at lasting speeds of their own, and whoever is first waits. The same 392 V100s repeated a
// matrix product within 0.12 % while they lay 2.0 % apart (hal-uw/blox-pal, TACC Longhorn); the spread follows power, so
// that what memory bounds hardly varies (0.03 to 0.1 %). All terms are concave in the ranks.
// A recording made within a job holds its part of this already.
#pragma once

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

struct RankSlowdown {
  double gpu_spread = 0;     ///< standard deviation of the speed of GPUs of one model: 0.015
  double one_gpu = 0;        ///< under DDP on a GPU alone, in place of the two below
  double several_gpus = 0;   ///< as soon as there is a second rank
  double several_nodes = 0;  ///< more, times 1 - 1/nodes
  double per_doubling = 0;   ///< more, for each doubling of the nodes
  /// Micro-batches that share the terms above, which count once for each all-reduce; 0: those accumulated.
  int shared_by = 0;
  double given = 0;  ///< on several ranks, in place of all the above, whatever is accumulated
  bool operator==(const RankSlowdown&) const = default;
};

/// How much longer compute takes on one of the ranks that a step waits for, as shares of compute.
struct SlowdownShares {
  double slowest_gpu = 0;
  double unexplained = 0;
  /// Factor on compute, in whole millionths: the last bit of a platform's log2 must not show.
  double slowdown() const;
};

/// Of matrix products bound by power, as the largest of a node's GPUs lies above the fleet's median, drawn again from
/// the values of each GPU (data of hal-uw/blox-pal and mghpcc/aicr-benchmarks; tests/accuracy/rank_costs.py): V100 1.5,
/// B200 1.0 to 1.2, RTX PRO 6000 0.7 %; trainings 0.5 to 1.2 %. Other GPUs: the middle of these.
double usual_gpu_spread(const GpuModel& gpu);
/// Times the usual one: what memory bounds, and fleets with throttled GPUs.
inline constexpr double kLeastGpuSpread = 0;
inline constexpr double kMostGpuSpread = 1.6;

/// What is left of 129 published steps on 2 to 16 GPUs of one node: 2.6 % of the step of one GPU in the middle, -1.5 to
/// 9 % in the middle 80 % (nothing in stacks that are well tuned: NVIDIA's, OneFlow's). Several nodes: 7 %
/// more in the middle of 14 stacks, 5.5 % of the five of PyTorch, less than nothing of two, over 20 % of four, nearly all
/// of it on 2 and 4 nodes. Beyond, four settings of one stack grow by 0.8 to 3.2 points a doubling from 4 to 32 nodes,
/// two of another by none from 4 to 16 (one source); MLPerf's ResNet by 0.8 from 2 to 16. Under DDP on one GPU 1.3 %
/// (PyTorch's benchmark, two models). tests/accuracy/published_scaling.py shows what a source it has not seen makes of
/// it.
inline constexpr RankSlowdown kPublishedRankSlowdown{
    .one_gpu = 0.013, .several_gpus = 0.026, .several_nodes = 0.035, .per_doubling = 0.01};
inline constexpr RankSlowdown kLeastPublishedRankSlowdown{.several_gpus = -0.015,
                                                          .several_nodes = -0.03};
inline constexpr RankSlowdown kMostPublishedRankSlowdown{
    .one_gpu = 0.026, .several_gpus = 0.09, .several_nodes = 0.16, .per_doubling = 0.015};

/// E[largest of n standard normals], within 1 % between powers of two.
double expected_maximum(int count);

/// `accumulate` micro-batches make a step.
SlowdownShares slowdown_shares(const RankSlowdown& terms, const Cluster& cluster,
                               int accumulate = 1);

/// Relative to the recording: what it holds of its own job's slowdown is not added again, and no rank computes faster for
/// having fewer beside it to wait for. Shares are of its compute.
SlowdownShares shares_beyond_recording(const RankSlowdown& terms, const Workload& workload,
                                       const Cluster& cluster, int accumulate = 1);

}  // namespace ddpsim
