// Host time of DeepSpeed's ZeRO, which does its work in Python.
#pragma once

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// What the thread that trains takes beyond the same step without DeepSpeed, and beyond launches of
/// collectives (host_launch and host_comm_hook).
///
/// CPU time with DeepSpeed 0.19.8 and PyTorch 2.13, without a GPU (tests/lab/zero_host.py). Medians
/// of 25 to 40 steps are fitted over 11 chains of linear layers for each of stages 1 and 2, and 16
/// for stage 3. The fits are off by 1 to 7 % in the median. In brackets, what fits give that leave
/// out one chain (tests/lab/measured/zero_host.json).
struct ZeroHost {
  // Stages 1 and 2.
  /// A gradient's hook [8 to 9], also in micro-batches that do not reduce.
  Duration hook = Duration::microseconds(9);
  /// Copying a gradient into a bucket, and its part in the reduction: 24 us with the hook in stage 1
  /// [24 to 25].
  Duration gradient = Duration::microseconds(15);
  /// Stage 2 takes longer for it: 29 us [27 to 29]. DeepSpeed 0.14.5 and 0.16.9 take 16 and 19.
  Duration partitioned = Duration::microseconds(5);
  /// Each bucket: 83 us [74 to 100] and 101 [79 to 108], of which host_comm_hook has 50.
  Duration bucket = Duration::microseconds(45);
  /// The step, for any number of parameters: 0.7 ms [0.66 to 0.75] and 0.4 [0.27 to 0.5].
  Duration step = Duration::microseconds(550);
  /// In the step, for each parameter [6 to 10]. For those of the rank more, for their norm and
  /// flattening [0 to 10], and with 16 bits to look for infinities and NaNs.
  Duration stepped = Duration::microseconds(6);
  Duration own_stepped = Duration::microseconds(8);
  Duration own_checked = Duration::microseconds(22);

  // Stage 3.
  /// Each forward and each backward, for any number of modules: 1.0 ms [0.9 to 4.1] and 0.8 [0.6 to
  /// 2.6].
  Duration pass = Duration::microseconds(900);
  /// The hooks before and after a module [115 to 134 and 62 to 71].
  Duration module_forward = Duration::microseconds(125);
  Duration module_backward = Duration::microseconds(67);
  /// For each parameter of a module in forward [37 to 50].
  Duration used = Duration::microseconds(45);
  /// The same in backward, with its gradient's copy and its part in the reduction [73 to 84].
  Duration written = Duration::microseconds(77);
  /// Each all-gather: 48 us in forward [33 to 79] and 68 in backward [51 to 88], of which
  /// host_comm_hook has 50. And each parameter in it: 53 [43 to 65] and 23 [2 to 40].
  Duration gather = Duration::microseconds(8);
  Duration gathered = Duration::microseconds(38);
  /// Each bucket: 240 to 320 us, of which host_comm_hook has 50 (a hundred buckets against one).
  Duration scatter = Duration::microseconds(200);
  /// Freeing a parameter: 22 us [1 to 28] and 38 [28 to 59].
  Duration freed = Duration::microseconds(30);
  /// The step [1.3 to 1.7 ms], and in it each parameter [11 to 14].
  Duration shard_step = Duration::microseconds(1650);
  Duration shard_stepped = Duration::microseconds(12);

  // Older releases.
  /// From 0.18.3 to 0.18.6, each gradient's hook counts all parameters that backward will reach:
  /// this long for each. 200 parameters take 119 ms, 400 take 445.
  Duration counted = Duration::microseconds(2.9);

  /// Calls `change` for each time.
  template <typename Change>
  void for_each(const Change& change) {
    for (Duration* const time : {&hook,    &gradient,       &partitioned,     &bucket,
                                 &step,    &stepped,        &own_stepped,     &own_checked,
                                 &pass,    &module_forward, &module_backward, &used,
                                 &written, &gather,         &gathered,        &scatter,
                                 &freed,   &shard_step,     &shard_stepped,   &counted})
      change(*time);
  }
  static ZeroHost nothing() {
    ZeroHost nothing;
    nothing.for_each([](Duration& time) { time = Duration(); });
    return nothing;
  }
  bool operator==(const ZeroHost&) const = default;
};

}  // namespace ddpsim
