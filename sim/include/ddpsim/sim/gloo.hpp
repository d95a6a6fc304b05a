// What ProcessGroupGloo takes: collectives on the host, over TCP.
//
// CUDA tensors are copied to pinned host memory when a collective is launched and back when it is done;
// in between worker threads of the process run a segmented ring (gloo/allreduce.cc, unspecified
// algorithm) on the processor. No kernel of it is ever on the GPU.
#pragma once

#include <string_view>

#include "ddpsim/sim/cluster.hpp"
#include "ddpsim/sim/units.hpp"

namespace ddpsim {

enum class Backend { nccl, gloo };
std::string_view name_of(Backend backend);

/// What binds gloo, each with its evidence. "DDP paper" are eight-GPU V100 servers of 2020
/// (tests/accuracy/ddp_paper.py fits these figures there, on named points); another machine differs by
/// a factor of two easily: --gloo states its own.
struct GlooLinks {
  /// What one process sends at most, receiving and adding up as much: about one core's worth. 1 ms of
  /// processor time per MB and rank on a small virtual machine; 1.4 GB/s in the DDP paper.
  Bandwidth process = Bandwidth::gigabytes_per_second(1.4);
  /// What all processes of one host send at most: memory and processors. DDP paper.
  Bandwidth host = Bandwidth::gigabytes_per_second(9.4);
  /// One step of the ring, however few bytes: system calls, wake-up of the next process. DDP paper;
  /// 20 to 60 us on loopbacks.
  Duration step = Duration::microseconds(20);
  /// One collective, before its first step: worker thread, events.
  Duration start = Duration::microseconds(60);
  /// Between GPU and pinned host memory: PCIe 3 x16 after headers.
  Bandwidth copy = Bandwidth::gigabytes_per_second(11);
  int threads = 2;            ///< worker threads of ProcessGroupGloo
  bool host_tensors = false;  ///< gradients live on the host: nothing is copied
};

/// Gloo in place of NCCL, over the cluster's network; one NIC of each node takes part.
struct GlooModel {
  Cluster cluster;
  GlooLinks links;
  double duration_scale = 1;  ///< named uncertainty: every transfer times this factor
};

}  // namespace ddpsim
