// One rank of a training job that runs real steps. Implementations are our reducer on a device
// (replay_runner) and PyTorch's own (c10d_runner).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"
#include "reducer_options.hpp"
#include "step_record.hpp"

namespace ddpsim {

/// Times of an all-reduce, and of a compression hook's work before and after it.
struct AllReduceTimes {
  Duration compress;  ///< cast and division; zero without a hook
  Duration all_reduce;
  Duration decompress;
};

class StepRunner {
 public:
  virtual ~StepRunner() = default;
  /// Runs step `iteration`, which counts from 1. Throws PeerLost.
  virtual void run_step(int iteration) = 0;
  /// Runs one more step, on gradients with a known average, and checks the result. The step is not
  /// among records(). Throws WrongAverage. PyTorch's own reducer is not checked.
  virtual void check_step(int /*iteration*/) {}
  /// The steps that were run since the last call.
  virtual std::vector<StepRecord> records() = 0;
};

/// How one rank runs a job. It creates a runner for each point of a sweep.
class RealBackend {
 public:
  virtual ~RealBackend() = default;
  /// Device, library and versions, for the provenance of a measurement.
  virtual std::vector<std::pair<std::string, std::string>> description() const = 0;
  /// All memory is allocated before this returns.
  virtual std::unique_ptr<StepRunner> runner(const Workload& workload,
                                             const ReducerOptions& options) = 0;
  /// Times of `repetitions` all-reduces of this size and type, one after the other. All ranks begin
  /// each one together. Calls `meet` once memory is allocated, so that all ranks can begin. The
  /// values stay the same, because on some devices the time of an addition depends on them.
  virtual std::vector<AllReduceTimes> all_reduce(Dtype dtype, Bytes size, int repetitions,
                                                 const std::function<void()>& meet) = 0;
};

}  // namespace ddpsim
