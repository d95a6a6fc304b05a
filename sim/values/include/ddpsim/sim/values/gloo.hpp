// Costs of ProcessGroupGloo: collectives on the host, over TCP.
//
// CUDA tensors are copied to pinned host memory when a collective is launched, and back when it is
// done. In between, worker threads of the process run a segmented ring on the processor
// (gloo/allreduce.cc, unspecified algorithm). It runs no kernel on the GPU.
#pragma once

#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

enum class Backend { nccl, gloo };
constexpr std::string_view name_of(Backend backend) {
  return backend == Backend::gloo ? "gloo" : "nccl";
}

/// What limits gloo, with the evidence for each number. "DDP paper" means eight-GPU V100 servers of
/// 2020: tests/accuracy/ddp_paper.py fits these numbers to named points of its plots. Another
/// machine may easily differ by a factor of two, so --gloo takes its own numbers.
struct GlooLinks {
  /// Rate at which one collective of a process sends at most while it receives and adds up as much
  /// and its data fit into the processor's caches. About what one core can do. Source: DDP paper.
  /// Over the loopback of an EPYC: 2.0 to 2.3.
  Bandwidth process = Bandwidth::gigabytes_per_second(1.5);
  /// Two collectives in flight send this many times as much together, because the socket of one
  /// idles while its thread adds up. Derived from the CPU time of gloo's threads
  /// (tests/lab/gloo_threads.py). Without a spare core there is no gain.
  double to_fill = 1.6;
  /// Rate at which all processes of one host send at most, limited by processors and memory.
  /// Source: DDP paper.
  Bandwidth host = Bandwidth::gigabytes_per_second(20);
  /// Last-level cache of one host: two processors of 45 MB, as in p3.16xlarge (DGX-1: 50 MB).
  /// Buffers and socket copies beyond it come from memory at half the rate. One core copies and
  /// adds 1.5 to 2.8 times as fast in cache (gloo_threads.py).
  ///
  /// The only evidence that the cache matters is the DDP paper, where small buckets are faster. Two
  /// processes leave memory idle and show no effect (2 to 64 MiB).
  Bytes cache{90'000'000};
  /// Time of one step of the ring, however few bytes: system calls, and waking the next process.
  /// Source: DDP paper. Over loopbacks: 20 to 60 us.
  Duration step = Duration::microseconds(35);
  /// Time of one collective before its first step: worker thread, events.
  Duration start = Duration::microseconds(60);
  /// Rate between GPU and pinned host memory: PCIe 3 x16 without headers. With host_tensors, the
  /// rate at which one thread copies into buckets and out of them. The lab measured 10.4 to 16.2
  /// GB/s for copies out (finalize_us of cpu-gloo in tests/lab/measured, 14 medians), and 5.6 to
  /// 5.8 with PyTorch 2.13 while a build used both cores.
  Bandwidth copy = Bandwidth::gigabytes_per_second(11);
  /// With host_tensors: rate of copies into newly allocated memory, whose pages are all touched for
  /// the first time. The casts and copies of a communication hook do this. For 4 MB and more,
  /// .to(torch.float16) takes 1.3 ns per element longer than into memory that is already mapped.
  /// Measured on one virtual machine (EPYC; the same with PyTorch 1.13 and 2.13); a physical
  /// machine may be faster.
  Bandwidth fresh = Bandwidth::gigabytes_per_second(1.5);
  int threads = 2;  ///< worker threads of ProcessGroupGloo
  /// Gradients live on the host, so nothing is copied to it.
  bool host_tensors = false;
};

}  // namespace ddpsim
