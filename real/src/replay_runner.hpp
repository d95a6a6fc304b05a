// Runs steps of our reducer: forward, backward with its hooks, finalize and optimizer are replayed
// on a device.
#pragma once

#include <exception>
#include <map>

#include "gradient_check.hpp"
#include "reducer.hpp"
#include "reducer_options.hpp"
#include "step_runner.hpp"

namespace ddpsim {

class ReplayRunner : public StepRunner {
 public:
  /// References must outlive the runner.
  ReplayRunner(Device& device, Communicator& communicator, HostClock clock,
               const Workload& workload, const ReducerOptions& options);
  ~ReplayRunner() override;
  void run_step(int iteration) override;
  void check_step(int iteration) override;
  std::vector<StepRecord> records() override;
  const Reducer& reducer() const { return reducer_; }

 private:
  struct MicroBatchEvents {
    Event forward_begin = 0;
    Event backward_begin = 0;
    Event backward_end = 0;
  };
  struct StepEvents {
    std::vector<MicroBatchEvents> batches;  ///< only the last one all-reduces
    std::optional<WorkId> map_all_reduce;
    std::optional<std::pair<Event, Event>> map_awaited;
    Event optimizer_begin = 0;
    Event optimizer_end = 0;
    std::vector<LaunchedBucket> buckets;
  };
  StepEvents step(int iteration, bool checked);
  MicroBatchEvents micro_batch(int iteration, int batch, bool checked);
  void write_gradient(const CheckedPart& part, bool checked);
  /// Writes known values to all parts, starting with this one.
  void write_known(Region region, CheckedPart part);
  void allocate_fresh();
  void note_used(const Recorded& recorded);
  bool uses(int rank, std::size_t parameter) const;
  StepRecord record_of(StepEvents& events);
  /// `untouched` is the value if no rank has a gradient.
  void require_average(std::size_t parameter, int iteration, std::optional<double> untouched);
  static void require_sound_clock(const StepRecord& record, TimePoint now);
  void require_broadcast(std::size_t buffer, int iteration);

  Device& device_;
  Communicator& communicator_;
  const Workload& workload_;
  ReducerOptions options_;
  HostClock clock_;
  int exceptions_ = std::uncaught_exceptions();
  Reducer reducer_;
  const Recorded& recorded_;  ///< what this rank replays
  /// Gradient of a later micro-batch, before it is added to the existing one. Holds memory for the
  /// largest gradient of each type.
  std::map<Dtype, Region> fresh_;
  std::vector<std::vector<bool>> used_;  ///< by recording, by parameter
  /// Buffers as forward would read them, in a checked step.
  std::vector<Region> broadcast_;
  /// Region for an extra all-reduce that aligns the ranks.
  Region meeting_;
  /// Whether to all-reduce it before the next step, so that measurements begin on all ranks
  /// together.
  bool meets_ = true;
  std::vector<StepEvents> steps_;
};

/// Our reducer on any device and communicator.
class ReplayBackend : public RealBackend {
 public:
  ReplayBackend(std::unique_ptr<Device> device, std::unique_ptr<Communicator> communicator,
                HostClock clock);
  ~ReplayBackend() override;
  std::vector<std::pair<std::string, std::string>> description() const override;
  std::unique_ptr<StepRunner> runner(const Workload& workload,
                                     const ReducerOptions& options) override;
  std::vector<AllReduceTimes> all_reduce(Dtype dtype, Bytes size, int repetitions,
                                         const std::function<void()>& meet) override;

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> communicator_;
  HostClock clock_;
};

}  // namespace ddpsim
