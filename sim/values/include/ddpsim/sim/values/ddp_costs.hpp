// Costs of DDP's own work on host and GPU: defaults, and values measured on a host or a GPU.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/zero_host.hpp"

namespace ddpsim {

/// Host and device costs of DDP itself, with the evidence for each default. A cost is only added if
/// the recording does not already contain it.
struct DdpCosts {
  /// Copy kernels move 2 bytes per gradient byte at this share of peak memory bandwidth. Each also
  /// takes a fixed time (copy_kernel), and there is a gap between two of them (kernel_gap).
  ///
  /// Source: copies in two ResNet-50 traces (V100, A100). Small copies take 1.8 us. Copies of 8 MB
  /// or more reach 0.83 to 0.86 of the V100's 900 GB/s. The gaps are 0.8 to 1.0 us.
  double copy_bandwidth_share = 0.85;
  /// Measured rate of copies, which replaces that share.
  std::optional<Bandwidth> copy_rate;
  Duration copy_kernel = Duration::microseconds(1.8);
  Duration kernel_gap = Duration::microseconds(1.0);
  /// Replaces both if gradients live on the host: one copy_ of 1 KiB with PyTorch 2.13. With a
  /// division it takes 3.3 us. CPU time, measured from Python.
  Duration host_copy = Duration::microseconds(1.2);
  /// Host time of one AccumulateGrad hook (seen in practice: 5 to 20 us), and of launching one
  /// collective (30 to 80 us). A launch is dispatch, two events and ncclAllReduce.
  Duration host_hook = Duration::microseconds(10);
  Duration host_launch = Duration::microseconds(50);
  /// Additional host time per launch if a communication hook runs in Python, under the
  /// interpreter's lock. Seen in practice: 20 to 100 us.
  Duration host_comm_hook = Duration::microseconds(50);
  /// Host time of each kernel that powerSGD_hook launches from Python, without autograd. The real
  /// hook, on tensors of a few elements and with immediate all-reduces, takes 5.4 us per kernel
  /// (1.13) and 5.7 us (2.13) without a GPU. Launching on a GPU adds about 3 us.
  Duration host_hook_kernel = Duration::microseconds(8);
  /// torch.linalg.qr of a tall matrix with few columns takes qr plus qr_column per column, on host
  /// and GPU. It runs many small kernels, however many rows there are. For 4 and 8 columns with 256
  /// to 4096 rows, pytorch/pytorch#76673 reports 110 to 118 us. For 32 columns, FlagGems#5586
  /// reports 178 us.
  Duration qr = Duration::microseconds(100);
  Duration qr_column = Duration::microseconds(2.4);
  /// Host time of an optimizer's step() for one parameter, and of each of its kernels
  /// (step_kernels). With 2.13 and tensors of a few elements, without a GPU, it takes 28 us with
  /// SGD, 50 with momentum, 104 with Adam, 77 with AdamW.
  Duration host_step = Duration::microseconds(17);
  Duration host_step_kernel = Duration::microseconds(11);
  /// Time from the host's launch call to the kernel's start on an idle stream: 11.4 to 13.3 us for
  /// 15 all-reduces of a 2 x A100 trace.
  Duration launch_latency = Duration::microseconds(12);
  /// Time from the event that a stream waits for to the start of the waiting kernel: 1.2 to 4.8 us
  /// in that trace.
  Duration event_latency = Duration::microseconds(1.2);
  /// Host time per parameter to traverse the autograd graph under find_unused_parameters: about 3
  /// nodes per parameter at 0.3 us.
  Duration host_search_per_parameter = Duration::microseconds(1);
  /// Host time of each of the model's operators with one kernel: Python's module, dispatch,
  /// autograd, launch. Hosts differ more than generations of GPUs, and forward costs as much as
  /// backward.
  /// - NVIDIA measured 20 us from one elementwise kernel to the next on a V100's host.
  /// - PyTorch without a GPU, ResNet-50 with tensors of a few elements on a server's CPU: 1.13
  ///   takes 19 us in forward and 13 in backward, 2.13 takes 26 and 19.
  /// - Rented hosts of an H100 and an H200 took 42 us for each of nine models, within 25 %.
  /// - Steps of ResNets on B200 (64 images each, autocast) still become shorter with the batch
  ///   where 15 us would be the limit.
  /// This is about their mean, by logarithms.
  Duration host_kernel = Duration::microseconds(25);
  /// Host time of a copy that the reducer launches from C++. The closest tenth of the copies in a
  /// V100 trace are 6 us apart, including the profiler's share.
  Duration host_copy_kernel = Duration::microseconds(6);
  /// Host times of DeepSpeed's ZeRO.
  ZeroHost zero;
  /// Host time of FSDP's Python around a unit: before its forward and before its backward, with
  /// FSDP1 also after its backward. Launching its collectives comes on top (host_launch and
  /// host_comm_hook each). With PyTorch 2.13, forward and backward of a unit take 210 and 310 us
  /// with fully_shard, 190 and 490 us with FullyShardedDataParallel. CPU time of one rank without a
  /// GPU, beyond a plain step, for 100 linear layers of a few elements.
  Duration host_unit_hook = Duration::microseconds(100);
};
/// Range of host_kernel as factors, 12 to 52 us: the middle 80 % of hosts that scatter like those
/// above, for so few of them (Student's t).
inline constexpr std::pair<double, double> kHostKernelRange = {0.48, 2.1};

/// A cost as files name it. The name contains the unit, microseconds or GB/s.
struct CostField {
  std::string_view name;
  Duration DdpCosts::*time = nullptr;
  std::optional<Bandwidth> DdpCosts::*rate = nullptr;  ///< set instead of `time`
  double least = 0;
  double most = 1e6;
  /// Description for schemas of documents.
  std::string_view says = {};
};
/// Costs of a host: `host/costs` of a workload file.
std::span<const CostField> host_costs();
/// Costs of a kind of GPU: `gpu_costs` of a cluster file.
std::span<const CostField> gpu_costs();

/// A measured cost, in the unit of its field.
struct StatedCost {
  const CostField* field = nullptr;
  double value = 0;
  bool operator==(const StatedCost&) const = default;
};
using StatedCosts = std::vector<StatedCost>;

/// Replaces the values in `costs` by the stated ones.
void state(DdpCosts& costs, const StatedCosts& stated);

}  // namespace ddpsim
