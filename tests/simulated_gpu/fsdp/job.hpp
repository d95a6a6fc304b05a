// What is trained, and how: a stack of units, read from a file of lines.
//
//   scheme fsdp1|fsdp2            ranks N            group N (ranks that shard together; the others replicate)
//   steps N                       micro_batches N    steps_ahead N (of the host)
//   hook_us T    collective_us T    wake_us T        of the host: Python around a unit, launching a collective, going on when
//                                 an event it stood for is there
//   root_output_is_its_own 0|1    else, where nothing of the root's is behind all units, what it returns is the last one's
//   optimizer_us T                no_sync 0|1        param_dtype fp32|bf16|fp16     reduce_dtype …
//   strategy full_shard|…         backward_prefetch pre|post|none    forward_prefetch 0|1    limit_all_gathers 0|1
//   reshard_after_forward 0|1     reshard_root 0|1
//   cpu_offload 0|1               copy_us T (of the host, to launch a copy)     add_ns_per_byte X (of a gradient, on the host);
//                                 the optimizer is the host's then
//   unit NAME FORWARD_US          in the order of forward; those named "root", at most one in front of all and one behind
//                                 them, are parts of the root, whose parameters are one unit's
//   param ELEMENTS BACKWARD_US    of the unit above, in the order backward writes their gradients
//
// What does not stand there is PyTorch's default; host times are 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels.h"

namespace fsdp {

enum class Scheme { fsdp1, fsdp2 };
enum class Strategy { full_shard, shard_grad_op, no_shard, hybrid_shard, hybrid_shard_zero2 };
enum class Prefetch { none, pre, post };

struct Parameter {
  std::int64_t elements;
  std::int64_t backward_ns;
};

/// A part of forward between two hooks.
struct Segment {
  std::string name;
  std::int64_t forward_ns;
  std::vector<Parameter> parameters;
};

struct Job {
  Scheme scheme = Scheme::fsdp1;
  int ranks = 2;
  int group = 0;  ///< 0: all ranks
  int steps = 3;
  int micro_batches = 1;
  int steps_ahead = 1;
  std::int64_t hook_ns = 0;
  std::int64_t collective_ns = 0;
  std::int64_t wake_ns = 0;
  std::int64_t copy_ns = 0;
  bool cpu_offload = false;
  double add_ns_per_byte = 0;
  bool root_output_is_its_own = true;
  std::int64_t optimizer_ns = 1000;
  bool no_sync = true;
  ddpsim_type param_type = DDPSIM_FLOAT32;
  ddpsim_type reduce_type = DDPSIM_FLOAT32;
  Strategy strategy = Strategy::full_shard;
  Prefetch backward_prefetch = Prefetch::pre;
  bool forward_prefetch = false;
  bool limit_all_gathers = true;
  bool reshard_after_forward = true;
  bool reshard_root = false;
  std::vector<Segment> segments;

  int replicas() const { return ranks / group; }
};

/// Ends the process with a message (exit code 3) where the file is no good.
Job read_job(const std::string& path);

}  // namespace fsdp
