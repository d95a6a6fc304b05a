// What ProcessGroupGloo takes: collectives on the host, over TCP.
//
// CUDA tensors are copied to pinned host memory when a collective is launched and back when it is done;
// in between worker threads of the process run a segmented ring (gloo/allreduce.cc, unspecified
// algorithm) on the processor. No kernel of it is ever on the GPU.
#pragma once

#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

enum class Backend { nccl, gloo };
constexpr std::string_view name_of(Backend backend) {
  return backend == Backend::gloo ? "gloo" : "nccl";
}

/// What binds gloo, each with its evidence. "DDP paper" are eight-GPU V100 servers of 2020
/// (tests/accuracy/ddp_paper.py fits these figures there, on named points); another machine differs by
/// a factor of two easily: --gloo states its own.
struct GlooLinks {
  /// What one collective of a process sends at most, receiving and adding up as much, while that stays
  /// in the processor's caches: about one core's worth. DDP paper; 2.0 to 2.3 over an EPYC's loopback.
  Bandwidth process = Bandwidth::gigabytes_per_second(1.5);
  /// Two in flight send this much more together: one's socket idles while its thread adds up. By the CPU
  /// time of gloo's threads (tests/lab/gloo_threads.py); with no core to spare there is no gain.
  double to_fill = 1.6;
  /// What all processes of one host send at most, likewise: processors and memory. DDP paper.
  Bandwidth host = Bandwidth::gigabytes_per_second(20);
  /// Last-level cache of one host: two processors of 45 MB, as in p3.16xlarge (DGX-1: of 50). What
  /// it does not hold of buffers and sockets' copies comes from memory, at half the rate: one core
  /// copies and adds 1.5 to 2.8 times as fast in cache (gloo_threads.py). That this binds rests on
  /// the DDP paper, whose small buckets go faster; two processes leave memory idle and show nothing
  /// of it (2 to 64 MiB).
  Bytes cache{90'000'000};
  /// One step of the ring, however few bytes: system calls, wake-up of the next process. DDP paper;
  /// 20 to 60 us on loopbacks.
  Duration step = Duration::microseconds(35);
  /// One collective, before its first step: worker thread, events.
  Duration start = Duration::microseconds(60);
  /// Between GPU and pinned host memory: PCIe 3 x16 after headers. With host_tensors: what one
  /// thread copies, into buckets and out of them. 10.4 to 16.2 GB/s out of the lab's (finalize_us
  /// of cpu-gloo in tests/lab/measured, 14 medians), 5.6 to 5.8 by PyTorch 2.13 beside a build on
  /// both cores.
  Bandwidth copy = Bandwidth::gigabytes_per_second(11);
  /// With host_tensors: memory just allocated, each page of it touched for the first time, as by a communication
  /// hook's casts and copies: .to(torch.float16) of 4 MB and more takes 1.3 ns an element longer than into memory
  /// that is there. One virtual machine (EPYC; PyTorch 1.13 and 2.13 alike); a machine of its own may be faster.
  Bandwidth fresh = Bandwidth::gigabytes_per_second(1.5);
  int threads = 2;            ///< worker threads of ProcessGroupGloo
  bool host_tensors = false;  ///< gradients live on the host: nothing is copied to it
};

}  // namespace ddpsim
