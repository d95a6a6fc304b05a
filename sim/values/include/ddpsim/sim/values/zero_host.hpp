// Host time of DeepSpeed's ZeRO, which does its work in Python.
#pragma once

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// What the thread that trains takes beyond the same step without DeepSpeed, and beyond launches of
/// collectives (host_launch and host_comm_hook).
///
/// CPU time with DeepSpeed 0.19.8 and PyTorch 2.13, without a GPU: medians of 40 steps, fitted over
/// 11 chains of linear layers for each of stages 1 and 2, and 15 for stage 3
/// (tests/lab/zero_host.py). In brackets, what fits give that leave out one chain. A plain layer
/// takes 8 us in forward and 16 in backward there.
struct ZeroHost {
  // Stages 1 and 2.
  /// A gradient's hook [9 to 11], also in micro-batches that do not reduce.
  Duration hook = Duration::microseconds(10);
  /// Copying a gradient into a bucket, and its part in the reduction: with the hook, 24 us in stage
  /// 1 [24 to 25] and 29 in stage 2 [27 to 29], the same within the noise.
  Duration gradient = Duration::microseconds(17);
  /// Each bucket: 83 us [74 to 100] and 108 [90 to 114], of which host_comm_hook has 50.
  Duration bucket = Duration::microseconds(45);
  /// The step, for any number of parameters: 0.7 ms [0.66 to 0.75] and 0.4 [0.27 to 0.5].
  Duration step = Duration::microseconds(550);
  /// In the step, for each parameter [6 to 10]. For those of the rank more, for their norm and
  /// flattening [0 to 9], and with 16 bits to look for infinities and NaNs.
  Duration stepped = Duration::microseconds(6);
  Duration own_stepped = Duration::microseconds(8);
  Duration own_checked = Duration::microseconds(22);

  // Stage 3.
  /// Each forward and each backward, for any number of modules: 1.1 to 1.4 ms for five layers.
  Duration pass = Duration::microseconds(1200);
  /// The hooks before and after a module [103 to 123 and 54 to 67].
  Duration module_forward = Duration::microseconds(113);
  Duration module_backward = Duration::microseconds(62);
  /// For each parameter of a module in forward [34 to 47].
  Duration used = Duration::microseconds(40);
  /// The same in backward, with its gradient's copy and its part in the reduction [68 to 79].
  Duration written = Duration::microseconds(73);
  /// Each all-gather: 79 us in forward [70 to 85] and 64 in backward [48 to 84], of which
  /// host_comm_hook has 50. And each parameter in it [13 to 51].
  Duration gather = Duration::microseconds(22);
  Duration gathered = Duration::microseconds(30);
  /// Each bucket: 240 to 320 us, of which host_comm_hook has 50.
  Duration scatter = Duration::microseconds(200);
  Duration freed = Duration::microseconds(27);  ///< for each parameter [14 to 49]
  /// The step [1.4 to 1.7 ms], and in it each parameter [11 to 13].
  Duration shard_step = Duration::microseconds(1400);
  Duration shard_stepped = Duration::microseconds(12);

  // Older releases.
  /// From 0.18.3 to 0.18.6, each gradient's hook counts all parameters that backward will reach:
  /// this long for each. 200 parameters take 119 ms, 400 take 445.
  Duration counted = Duration::microseconds(2.9);

  /// Calls `change` for each time.
  template <typename Change>
  void for_each(const Change& change) {
    for (Duration* const time :
         {&hook, &gradient, &bucket, &step, &stepped, &own_stepped, &own_checked, &pass,
          &module_forward, &module_backward, &used, &written, &gather, &gathered, &scatter, &freed,
          &shard_step, &shard_stepped, &counted})
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
