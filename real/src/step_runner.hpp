// One rank of a training job that runs real steps. Behind it stand our reducer on a device
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

/// An all-reduce, and what a compression hook does before and after it, each by itself.
struct AllReduceTimes {
  Duration compress;  ///< cast to 16 bits and division; zero without a hook
  Duration all_reduce;
  Duration decompress;
};

class StepRunner {
 public:
  virtual ~StepRunner() = default;
  /// Runs step `iteration`, from 1. Throws PeerLost.
  virtual void run_step(int iteration) = 0;
  /// Runs one more step, on gradients whose average is known, and looks at what came of it; not among records(). Throws
  /// WrongAverage. PyTorch's own reducer is taken at its word.
  virtual void check_step(int /*iteration*/) {}
  /// The steps run since the last call.
  virtual std::vector<StepRecord> records() = 0;
};

/// How one rank runs a job: what makes a runner for each point of a sweep.
class RealBackend {
 public:
  virtual ~RealBackend() = default;
  /// Device, library and versions, for the provenance of a measurement.
  virtual std::vector<std::pair<std::string, std::string>> description() const = 0;
  /// Memory is there when it returns.
  virtual std::unique_ptr<StepRunner> runner(const Workload& workload,
                                             const ReducerOptions& options) = 0;
  /// Times of `repetitions` all-reduces of so many bytes of this type, one after the other, each
  /// from all ranks together. Calls `meet` once memory is there: all ranks are to begin then.
  /// Values stay what they are, for where adding takes its time by them.
  virtual std::vector<AllReduceTimes> all_reduce(Dtype dtype, Bytes size, int repetitions,
                                                 const std::function<void()>& meet) = 0;
};

}  // namespace ddpsim
