// The modules DeepSpeed's stage 3 hooks, and the order in which it finds out, step by step, what to gather and what to
// free (deepspeed/runtime/zero/partitioned_param_coordinator.py, 0.19), once it has seen a step.
//
//   fetch    of a module, in front of its forward or backward: what of its own parameters is not there, in one all-gather;
//            they are waited for; then what the trace uses next, until it is prefetch_bucket_size elements or more or
//            max_live_parameters are there, in another
//   release  behind it: its parameters, but for those the next max_reuse_distance elements of the trace use again, or whose
//            next use the prefetcher has passed already, or that persist: those of persistence_threshold elements or fewer
//
// So a model of fewer than max_reuse_distance elements is gathered once a step, in forward, as far ahead as hooks allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "ddpsim/sim/values/scheme.hpp"
#include "units.hpp"

namespace ddpsim {

/// Every module that is called: those that own parameters, and those around them but for lists of modules. Names do not
/// tell these from a Sequential: a list is taken to be a container of numbered modules that hold modules themselves, unless it
/// is an element of one. A module of `wrap` holds all below it. The root comes first.
std::vector<Unit> zero3_modules(const Workload& workload, const WrapPolicy& wrap);

/// In the order stage 3 has gradients written: DeepSpeed puts a function of its own in place of torch.nn.functional.linear,
/// which finishes a weight before its bias.
std::vector<std::size_t> zero3_order(const Workload& workload);

/// Whether such a parameter is never sharded.
bool persists(const Parameter& parameter, const Zero& scheme);

class Zero3Coordinator {
 public:
  /// `forward`, `backward`: modules in the order they are called. All must outlive it.
  Zero3Coordinator(const Workload& workload, const Zero& scheme, const std::vector<Unit>& modules,
                   const std::vector<std::size_t>& forward,
                   const std::vector<std::size_t>& backward);

  /// One all-gather of those parameters, in order …
  using Gather = std::function<void(const std::vector<std::size_t>& parameters)>;
  /// … which compute waits for in so far as that one is concerned.
  using Wait = std::function<void(std::size_t parameter)>;

  /// Forward and backward of a micro-batch begin.
  void begin();
  void fetch(std::size_t module, const Gather& gather, const Wait& wait);
  void release(std::size_t module);

 private:
  enum class Status : std::uint8_t { sharded, in_flight, there };
  struct Use {
    std::size_t parameter;
    std::int64_t step;
  };
  struct Held {
    Status status = Status::sharded;
    std::int64_t fetched_for = 0;  ///< last step of the trace that it was fetched for, or passed by
    std::vector<std::int64_t> used_at;  ///< steps
  };

  void start(const std::vector<std::size_t>& parameters, const Gather& gather);
  void pop_those_of(const std::vector<std::size_t>& parameters);
  void prefetch(const Gather& gather);
  bool is_used_soon(std::size_t parameter) const;

  const Workload& workload_;
  const Zero& scheme_;
  const std::vector<Unit>& modules_;
  std::vector<Use> uses_;             ///< by step
  std::vector<std::int64_t> passed_;  ///< by step: elements used by those in front
  std::deque<Use> queue_;             ///< uses not yet fetched for
  std::vector<Held> held_;            ///< by parameter
  std::int64_t live_ = 0;             ///< elements
  std::int64_t step_ = 0;
};

}  // namespace ddpsim
