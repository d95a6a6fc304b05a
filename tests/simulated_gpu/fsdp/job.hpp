// The job that is trained: a stack of units, read from a file of lines. T is a time of the host in
// microseconds. Missing lines mean PyTorch's default; host times are then 0.
//
// - `scheme fsdp1|fsdp2`
// - `ranks N`
// - `group N`: ranks that shard together; the groups replicate
// - `steps N`
// - `micro_batches N`
// - `steps_ahead N`: steps by which the host is ahead
// - `hook_us T`: Python around a unit
// - `collective_us T`: launching a collective
// - `wake_us T`: continuing after an event that the host waited for
// - `root_output_is_its_own 0|1`: 0: if the root computes nothing after all units, it returns the last one's output
// - `optimizer_us T`
// - `no_sync 0|1`
// - `param_dtype fp32|bf16|fp16`
// - `reduce_dtype fp32|bf16|fp16`
// - `strategy full_shard|…`
// - `backward_prefetch pre|post|none`
// - `forward_prefetch 0|1`
// - `limit_all_gathers 0|1`
// - `reshard_after_forward 0|1`
// - `reshard_root 0|1`
// - `cpu_offload 0|1`: 1: the optimizer runs on the host
// - `copy_us T`: launching a copy
// - `add_ns_per_byte X`: adding a gradient on the host
// - `unit NAME FORWARD_US`: in the order of forward
// - `param ELEMENTS BACKWARD_US`: a parameter of the unit above, in the order in which backward writes gradients
//
// Units named "root" are parts of the root, and their parameters are one unit's. At most one is
// first and one is last.
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
  int group = 0;  ///< 0 means all ranks
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

/// Ends the process with a message and exit code 3 if the file is invalid.
Job read_job(const std::string& path);

}  // namespace fsdp
