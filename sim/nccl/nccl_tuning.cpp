#include "nccl_tuning.hpp"

namespace ddpsim {
namespace {

using Row = std::array<float, kProtocols>;
/// In-switch algorithms run only with Simple, except the oldest CollNet.
struct InSwitchRows {
  Row collnet_direct{};
  Row collnet_chain{};
  Row nvls{};
  Row nvls_tree{};
};
constexpr PairTable pairs(Row tree, Row ring, const InSwitchRows& in_switch) {
  return {tree,
          ring,
          in_switch.collnet_direct,
          in_switch.collnet_chain,
          in_switch.nvls,
          in_switch.nvls_tree};
}
constexpr Row simple(float us) {
  return {0, 0, us};
}
constexpr void set_in_switch(PairTable& table, const InSwitchRows& rows) {
  table = pairs(table[0], table[1], rows);
}
constexpr GenerationTable every(double value) {
  constexpr auto row = [](double v) { return NodesRow{v, v, v}; };
  return {row(value), row(value), row(value), row(value)};
}

constexpr NodesRow kVoltaLl{39.0, 39.0, 20.4};
constexpr NodesRow kAmpereLl{87.7, 22.5, 19.0};
constexpr NodesRow kHopperLl{141.0, 45.0, 35.0};
constexpr NodesRow kVoltaTree{26.5, 18.5, 10.0};
constexpr NodesRow kAmpereTree{24.0, 23.6, 17.8};
constexpr NodesRow kHopperTree{38.7, 41.4, 36.0};
constexpr NodesRow kTwenty{20.0, 20.0, 20.0};
constexpr NodesRow kHopperRingLl128{36.7, 36.7, 36.7};
constexpr NodesRow kHopperTreeLl128{36.7, 36.7, 29.0};

constexpr std::array<std::array<float, 23>, kProtocols> kCorrection{{
    {1.0f, 1.0f, 1.0f, 1.0f, .9f, .8f, .7f, .7f, .7f, .7f,  .6f, .5f,
     .4f,  .4f,  .5f,  .6f,  .7f, .8f, .9f, 1.f, 1.f, 1.0f, 1.0f},
    {1.0f, 1.0f, 1.0f, 1.0f, 1.f, .9f, .8f, .8f, .8f, .7f,  .6f, .6f,
     .6f,  .6f,  .6f,  .6f,  .8f, .9f, .9f, .9f, .9f, 1.0f, 1.0f},
    {.9f, .9f, .9f, .9f, .9f, .9f, .9f, .8f, .7f, .6f, .6f, .5f,
     .5f, .5f, .5f, .6f, .7f, .8f, .7f, .7f, .8f, .9f, .9f},
}};

// The 23rd value of 2.7 is 1, because that version stops one power of two earlier.
constexpr std::array<std::array<float, 23>, kProtocols> kCorrection27{{
    kCorrection[0],
    {1.0f, 1.0f, 1.0f, 1.0f, 1.f, .9f, .8f, .8f, .8f, .7f,  .6f, .6f,
     .6f,  .5f,  .6f,  .6f,  .7f, .7f, .8f, .9f, .9f, 1.0f, 1.0f},
    {.9f, .9f, .9f, .9f, .9f, .9f, .9f, .8f, .7f, .6f, .6f, .5f,
     .5f, .5f, .5f, .5f, .5f, .6f, .6f, .7f, .8f, .9f, 1.f},
}};

// 2.8 has the same Simple as every later version; its LL128 is almost as in 2.7.
constexpr std::array<std::array<float, 23>, kProtocols> kCorrection28{{
    kCorrection[0],
    {1.0f, 1.0f, 1.0f, 1.0f, 1.f, .9f, .8f, .8f, .8f, .7f,  .6f, .6f,
     .6f,  .5f,  .6f,  .6f,  .7f, .7f, .8f, .9f, .9f, .92f, .92f},
    kCorrection[2],
}};

constexpr NcclTuning tuning_2_7() {
  NcclTuning t;
  t.version = {2, 7, 8};
  t.era = TuningEra::v2_7;
  t.base_latency =
      pairs({4.4f, 4.4f, 0.0f}, {3.6f, 10.0f, 8.4f}, {.collnet_chain = {4.4f, 4.4f, 0.0f}});
  t.nvlink_latency =
      pairs({.52f, 1.2f, 28.0f}, {.47f, 1.9f, 3.4f}, {.collnet_chain = {.5f, 1.2f, 4.0f}});
  t.pcie_latency =
      pairs({1.0f, 1.9f, 28.0f}, {1.0f, 2.5f, 5.7f}, {.collnet_chain = {1.0f, 1.9f, 5.5f}});
  t.network_latency =
      pairs({5.0f, 8.5f, 50.0f}, {2.7f, 4.0f, 9.6f}, {.collnet_chain = {5.0f, 5.0f, 10.7f}});
  t.one_collnet = true;
  t.fast_trees = false;
  t.only_known_generations = true;
  t.ring_ll_factor = 0;
  t.ring_ll128_single_rank = true;
  t.cap_ampere = true;
  t.slow_ll_across_nodes = true;
  t.net_overhead = false;
  t.tree_latency_for_lone_ranks = false;
  t.plateau_by_ranks = true;
  t.ll128_max_capability = 80;
  t.max_channels = 32;
  t.double_hopper_channels = false;
  t.tree_correction = kCorrection27;
  return t;
}

constexpr NcclTuning tuning_2_8() {
  NcclTuning t = tuning_2_7();
  t.version = {2, 8, 3};
  t.era = TuningEra::v2_8;
  t.nvlink_latency[0][1] = 1.25f;
  t.network_latency[0][2] = 28.0f;
  t.ll_max = {kVoltaLl, kAmpereLl, kAmpereLl, kAmpereLl};
  t.ring_ll128 = every(16.9);
  t.tree_ll128 = every(16.9);
  constexpr NodesRow kFirstAmpereTree{24.0, 22.5, 16.0};
  t.tree = {kVoltaTree, kFirstAmpereTree, kFirstAmpereTree, kFirstAmpereTree};
  t.fast_trees = true;
  t.tree_correction = kCorrection28;
  return t;
}

constexpr NcclTuning tuning_2_10() {
  NcclTuning t = tuning_2_8();
  t.version = {2, 10, 3};
  t.era = TuningEra::v2_10;
  t.nvlink_latency[3][2] = t.pcie_latency[3][2] = 8.0f;
  t.ring_ll128 = every(20.0);
  t.tree_ll128 = every(20.0);
  t.tree = {kVoltaTree, kAmpereTree, kAmpereTree, kAmpereTree};
  t.tree_correction = kCorrection;
  return t;
}

constexpr NcclTuning tuning_2_14() {
  NcclTuning t = tuning_2_10();
  t.version = {2, 14, 3};
  t.inter_steps_twice_nodes = true;
  t.one_collnet = false;
  set_in_switch(t.base_latency, {{4.4f, 4.4f, 0.0f}, {4.4f, 4.4f, 0.0f}, {}, {}});
  set_in_switch(t.nvlink_latency, {simple(8.0f), simple(4.75f), {}, {}});
  set_in_switch(t.pcie_latency, {simple(8.0f), simple(8.0f), {}, {}});
  set_in_switch(t.network_latency, {simple(10.7f), simple(14.0f), {}, {}});
  return t;
}

/// The first version with NVLS. Its other constants were not available and stay those of 2.14.
constexpr NcclTuning tuning_2_17() {
  NcclTuning t = tuning_2_14();
  t.version = {2, 17, 1};
  t.nvls = NvlsEra::v2_17;
  t.base_latency[4] = t.base_latency[5] = simple(23.0f);
  t.network_latency[4] = simple(18.0f);
  t.network_latency[5] = simple(19.0f);
  return t;
}

constexpr NcclTuning tuning_2_18() {
  NcclTuning t = tuning_2_17();
  t.version = {2, 18, 3};
  t.base_latency = pairs({6.8f, 14.0f, 0.0f}, {6.6f, 14.0f, 8.4f},
                         {{6.8f, 14.0f, 0.0f}, {6.8f, 14.0f, 0.0f}, simple(23.0f), simple(23.0f)});
  t.nvlink_latency =
      pairs({.6f, 1.25f, 4.0f}, {.6f, 1.9f, 3.4f}, {simple(8.0f), simple(4.75f), {}, {}});
  t.pcie_latency =
      pairs({1.0f, 1.9f, 6.0f}, {1.0f, 2.5f, 5.7f}, {simple(8.0f), simple(8.0f), {}, {}});
  t.network_latency = pairs({5.0f, 8.5f, 14.0f}, {2.7f, 4.0f, 14.0f},
                            {simple(10.7f), simple(14.0f), simple(18.0f), simple(19.0f)});
  t.ll_max = {kVoltaLl, kAmpereLl, kAmpereLl, kAmpereLl};
  t.ring_ll128 = {kTwenty, kTwenty, kHopperRingLl128, kHopperRingLl128};
  t.tree_ll128 = {kTwenty, kTwenty, kHopperTreeLl128, kHopperTreeLl128};
  t.tree = {kVoltaTree, kAmpereTree, kHopperTree, kHopperTree};
  t.only_known_generations = false;
  t.cap_ampere = false;
  t.slow_ll_across_nodes = false;
  t.dear_trees_at_one_gpu = true;
  t.net_overhead = true;
  t.plateau_by_ranks = false;
  t.ll128_max_capability = 90;
  t.double_hopper_channels = true;
  return t;
}

constexpr NcclTuning tuning_2_21() {
  NcclTuning t = tuning_2_18();
  t.version = {2, 21, 5};
  t.nvlink_latency[0][2] = 28.0f;
  t.pcie_latency[0][2] = 28.0f;
  t.network_latency[0][2] = 28.0f;
  set_in_switch(t.base_latency, {});
  set_in_switch(t.nvlink_latency, {simple(3.7f), simple(2.8f), simple(25.0f), simple(25.0f)});
  set_in_switch(t.pcie_latency, {simple(3.7f), simple(2.8f), {}, {}});
  set_in_switch(t.network_latency, {simple(31.0f), simple(30.0f), simple(18.0f), simple(14.0f)});
  t.nvls = NvlsEra::v2_21;
  t.ll_max = {kVoltaLl, kAmpereLl, kHopperLl, kHopperLl};
  t.ring_ll_factor = 0.5;
  return t;
}

/// Between 2.22.3, which is like 2.21, and 2.26. Logs of 2.23.4 (Alps) change from LL to trees of
/// Simple at 2 MiB on two nodes, and at 1 MiB on eight and more. These values agree with that;
/// those of 2.22 do not.
constexpr NcclTuning tuning_2_23() {
  NcclTuning t = tuning_2_21();
  t.version = {2, 23, 4};
  t.base_latency[0][2] = 8.4f;
  t.nvlink_latency[0][2] = 4.0f;
  t.pcie_latency[0][2] = 4.0f;
  t.network_latency[0][2] = 14.0f;
  t.ring_ll128_single_rank = false;
  t.inter_steps_twice_nodes = false;
  t.tree_latency_for_lone_ranks = true;
  return t;
}

constexpr NcclTuning tuning_2_27() {
  NcclTuning t = tuning_2_23();
  t.version = {2, 27, 7};
  t.ll_max[3] = {282.0, 90.0, 70.0};
  t.ring_ll128[3] = {73.4, 73.4, 73.4};
  t.tree_ll128[3] = {73.4, 73.4, 58.0};
  t.tree[3] = {77.4, 82.8, 72.0};
  t.ll128_max_capability = 0;
  t.max_channels = 64;
  return t;
}

constexpr NcclTuning tuning_2_28() {
  NcclTuning t = tuning_2_27();
  t.version = {2, 28, 9};
  t.ring_ll128[3] = {73.4, 34.6, 73.4};
  t.tree_ll128[3] = {55.6, 31.67, 20.0};
  t.tree[3] = {70.0, 42.8, 24.0};
  t.nvls = NvlsEra::v2_28;
  t.nvls_tree = {kVoltaTree, kAmpereTree, {0.0, 57.7, 45.5}, {0.0, 96.0, 43.8}};
  t.network_latency[5][2] = 20.9f;
  return t;
}

constexpr NcclTuning tuning_2_30() {
  NcclTuning t = tuning_2_28();
  t.version = {2, 30, 7};
  t.ring_ll128[3] = {40.0, 40.0, 40.0};
  t.nvls_tree[3] = {0.0, 96.0, 80.0};
  return t;
}

constexpr std::array kTables{tuning_2_7(),  tuning_2_8(),  tuning_2_10(), tuning_2_14(),
                             tuning_2_17(), tuning_2_18(), tuning_2_21(), tuning_2_23(),
                             tuning_2_27(), tuning_2_28(), tuning_2_30()};

}  // namespace

const NcclTuning& nccl_tuning(NcclVersion version) {
  const NcclTuning* newest = &kTables.front();
  for (const NcclTuning& table : kTables) {
    if (table.version <= version) newest = &table;
  }
  return *newest;
}

}  // namespace ddpsim
