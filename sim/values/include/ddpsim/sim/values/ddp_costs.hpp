// What DDP's own work costs host and GPU: by default, and as somebody measured it on a host or a GPU.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Host and device costs of DDP itself, with the evidence each default rests on. A field is only
/// used where the recording does not already contain that cost.
struct DdpCosts {
  /// Copy kernels move 2 bytes per gradient byte at this share of peak memory bandwidth …
  double copy_bandwidth_share = 0.85;
  std::optional<Bandwidth> copy_rate;  ///< in place of that share, where it was measured
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
  /// Of a hook per gradient that runs in Python and copies it into a bucket. DeepSpeed 0.19.8 with PyTorch 2.13, stages 1
  /// and 2, takes 31 to 36 us a parameter more than plain backward (100 linear layers of a few elements, one rank, CPU time,
  /// without a GPU; DDP's, in C++, 15 there).
  Duration host_python_hook = Duration::microseconds(33);
  /// Of a hook in front of a module, or behind it, that looks up what to gather or free. Stage 3 there, nothing gathered:
  /// 154 us a module more in forward, 162 in backward, two gradients' hooks among them.
  Duration host_module_hook = Duration::microseconds(60);
  /// Of FSDP's Python around a unit, in front of its forward and of its backward, FSDP1's behind backward as well; beside
  /// launching its collectives (host_launch and host_comm_hook each). There, a unit, in forward and backward: fully_shard
  /// 210 and 310 us, FullyShardedDataParallel 190 and 490.
  Duration host_unit_hook = Duration::microseconds(100);
};
/// What host_kernel may be: 10 to 26 us.
inline constexpr std::pair<double, double> kHostKernelRange = {0.6, 1.6};

/// A cost as files call it; its unit is in the name, microseconds or GB/s.
struct CostField {
  std::string_view name;
  Duration DdpCosts::*time = nullptr;
  std::optional<Bandwidth> DdpCosts::*rate = nullptr;  ///< in place of `time`
  double least = 0;
  double most = 1e6;
  std::string_view says = {};  ///< what it is, as schemas of documents tell it
};
/// Of a host: `host/costs` of a workload file.
std::span<const CostField> host_costs();
/// Of a kind of GPU: `gpu_costs` of a cluster file.
std::span<const CostField> gpu_costs();

/// One that was measured, in its field's unit.
struct StatedCost {
  const CostField* field = nullptr;
  double value = 0;
  bool operator==(const StatedCost&) const = default;
};
using StatedCosts = std::vector<StatedCost>;

/// They take the place of what is there.
void state(DdpCosts& costs, const StatedCosts& stated);

}  // namespace ddpsim
