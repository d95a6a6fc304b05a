// Steps of our reducer: forward, backward with its hooks, finalize and optimizer replayed on a device.
#pragma once

#include <exception>

#include "reducer.hpp"
#include "step_runner.hpp"

namespace ddpsim {

class ReplayRunner : public StepRunner {
 public:
  /// References must outlive the runner.
  ReplayRunner(Device& device, Communicator& communicator, HostClock clock,
               const Workload& workload, const DdpOptions& options);
  ~ReplayRunner() override;
  void run_step(int iteration) override;
  void check_step(int iteration) override;
  std::vector<StepRecord> records() override;
  const Reducer& reducer() const { return reducer_; }

 private:
  struct StepEvents {
    Event forward_begin = 0;
    Event backward_begin = 0;
    Event backward_end = 0;
    Event optimizer_begin = 0;
    Event optimizer_end = 0;
    std::vector<LaunchedBucket> buckets;
  };
  StepEvents step(int iteration, bool checked);
  void write_known(Region region, std::size_t parameter, int iteration);
  void require_average(std::size_t parameter, int iteration);
  static void require_sound_clock(const StepRecord& record, TimePoint now);
  void require_broadcast(std::size_t buffer, int iteration);

  Device& device_;
  Communicator& communicator_;
  const Workload& workload_;
  DdpOptions options_;
  HostClock clock_;
  int exceptions_ = std::uncaught_exceptions();
  Reducer reducer_;
  /// What forward would read of the buffers, in a step that is checked.
  std::vector<Region> broadcast_;
  Region meeting_;     ///< an all-reduce of nothing in particular, …
  bool meets_ = true;  ///< … before the next step: what is measured begins on all ranks together
  std::vector<StepEvents> steps_;
};

/// Our reducer on any device and communicator.
class ReplayBackend : public RealBackend {
 public:
  ReplayBackend(std::unique_ptr<Device> device, std::unique_ptr<Communicator> communicator,
                HostClock clock);
  ~ReplayBackend() override;
  std::vector<std::pair<std::string, std::string>> description() const override;
  std::unique_ptr<StepRunner> runner(const Workload& workload, const DdpOptions& options) override;
  std::vector<AllReduceTimes> all_reduce(Dtype dtype, Bytes size, int repetitions,
                                         const std::function<void()>& meet) override;

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> communicator_;
  HostClock clock_;
};

}  // namespace ddpsim
