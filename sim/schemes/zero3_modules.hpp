// The modules that DeepSpeed's stage 3 hooks. It decides step by step what to gather and what to
// free, from the trace of an earlier step (deepspeed/runtime/zero/partitioned_param_coordinator.py,
// 0.19).
//
// Fetch, before a module's forward or backward: its own parameters that are missing are gathered in
// one all-gather, and compute waits for them. A second all-gather prefetches what the trace uses
// next. It stops at prefetch_bucket_size elements or when max_live_parameters are in memory.
//
// Release, after the module: its parameters are freed, except:
// - parameters that the trace uses again within max_reuse_distance elements
// - parameters whose next use the prefetcher has already passed
// - persistent parameters, with at most persistence_threshold elements
//
// So a model of fewer than max_reuse_distance elements is gathered once a step, in forward, as far
// ahead as hooks allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "ddpsim/sim/values/scheme.hpp"
#include "units.hpp"

namespace ddpsim {

/// Every module that is called: modules that own parameters and the modules around them, except
/// module lists. Names alone do not tell a list from a Sequential. A list is assumed to be a
/// container of numbered modules that contain modules themselves, unless it is an element of
/// another list. A module of `wrap` owns everything below it. The root comes first.
std::vector<Unit> zero3_modules(const Workload& workload, const WrapPolicy& wrap);

/// The order in which stage 3 writes gradients. DeepSpeed replaces torch.nn.functional.linear by
/// its own function, which finishes a weight before its bias.
std::vector<std::size_t> zero3_order(const Workload& workload);

/// Whether the parameter is never sharded.
bool persists(const Parameter& parameter, const Zero& scheme);

class Zero3Coordinator {
 public:
  /// `forward` and `backward` list modules in the order they are called. All arguments must outlive
  /// the coordinator.
  Zero3Coordinator(const Workload& workload, const Zero& scheme, const std::vector<Unit>& modules,
                   const std::vector<std::size_t>& forward,
                   const std::vector<std::size_t>& backward);

  /// Gathers those parameters, in this order, in one all-gather.
  using Gather = std::function<void(const std::vector<std::size_t>& parameters)>;
  /// Makes compute wait for the all-gather of that parameter.
  using Wait = std::function<void(std::size_t parameter)>;

  /// Begins forward and backward of a micro-batch.
  void begin();
  void fetch(std::size_t module, const Gather& gather, const Wait& wait);
  /// Returns how many parameters it frees.
  std::int64_t release(std::size_t module);

 private:
  enum class Status : std::uint8_t { sharded, in_flight, there };
  struct Use {
    std::size_t parameter;
    std::int64_t step;
  };
  struct Held {
    Status status = Status::sharded;
    /// Last step of the trace that it was fetched for or that the prefetcher passed.
    std::int64_t fetched_for = 0;
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
  std::vector<std::int64_t> passed_;  ///< by step: elements used before it
  std::deque<Use> queue_;             ///< uses not yet fetched for
  std::vector<Held> held_;            ///< by parameter
  std::int64_t live_ = 0;             ///< elements
  std::int64_t step_ = 0;
};

}  // namespace ddpsim
