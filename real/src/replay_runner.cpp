#include "replay_runner.hpp"

namespace ddpsim {

ReplayRunner::ReplayRunner(Device& device, Communicator& communicator, HostClock clock,
                           const Workload& workload, const DdpOptions& options)
    : device_(device),
      communicator_(communicator),
      workload_(workload),
      reducer_(device, communicator, clock, workload, options) {
  for (std::size_t i = 0; i < workload.parameters.size(); ++i)
    if (!workload.parameters[i].ignored) device.fill(reducer_.gradient(i), communicator.rank() + 1);
}

ReplayRunner::~ReplayRunner() {
  try {
    device_.synchronise();
  } catch (const std::exception&) {  // a step failed; that has been said
  }
  device_.release_memory();
}

void ReplayRunner::run_step(int iteration) {
  Marks marks;
  marks.forward_begin = device_.mark();
  device_.begin_compute();
  reducer_.prepare_for_forward(iteration);
  device_.compute(workload_.forward.value_or(Duration()));
  marks.backward_begin = device_.mark();
  Duration reached;
  for (const ReadyEvent& event : workload_.backward->ready) {
    device_.compute(event.at - reached);
    reached = event.at;
    reducer_.gradient_ready(event.parameter);
  }
  if (workload_.backward->duration > reached)
    device_.compute(workload_.backward->duration - reached);
  marks.backward_end = device_.mark();
  marks.buckets = reducer_.finalize();
  marks.optimizer_begin = device_.mark();
  device_.begin_compute();
  device_.compute(workload_.optimizer.value_or(Duration()));
  marks.optimizer_end = device_.mark();
  steps_.push_back(std::move(marks));
}

std::vector<StepRecord> ReplayRunner::records() {
  device_.synchronise();
  std::vector<StepRecord> records;
  for (Marks& marks : steps_) {
    StepRecord record{.forward_begin = device_.time_of(marks.forward_begin),
                      .backward_begin = device_.time_of(marks.backward_begin),
                      .backward_end = device_.time_of(marks.backward_end),
                      .optimizer_begin = device_.time_of(marks.optimizer_begin),
                      .optimizer_end = device_.time_of(marks.optimizer_end),
                      .buckets = {}};
    for (LaunchedBucket& bucket : marks.buckets) {
      const CollectiveTimes times = communicator_.times_of(bucket.ticket);
      record.buckets.push_back({.parameters = std::move(bucket.parameters),
                                .bytes = bucket.bytes,
                                .ready = device_.time_of(bucket.ready),
                                .launch_begin = bucket.launch_begin,
                                .launch_end = bucket.launch_end,
                                .start = times.start,
                                .end = times.end,
                                .copy_out_begin = device_.time_of(bucket.copy_out_begin),
                                .copy_out_end = device_.time_of(bucket.copy_out_end)});
    }
    records.push_back(std::move(record));
  }
  steps_.clear();
  device_.forget_marks();
  communicator_.forget_tickets();
  return records;
}

ReplayBackend::ReplayBackend(std::unique_ptr<Device> device,
                             std::unique_ptr<Communicator> communicator, HostClock clock)
    : device_(std::move(device)), communicator_(std::move(communicator)), clock_(clock) {}

ReplayBackend::~ReplayBackend() = default;

std::vector<std::pair<std::string, std::string>> ReplayBackend::description() const {
  auto notes = device_->description();
  for (auto& note : communicator_->description()) notes.push_back(std::move(note));
  return notes;
}

std::unique_ptr<StepRunner> ReplayBackend::runner(const Workload& workload,
                                                  const DdpOptions& options) {
  return std::make_unique<ReplayRunner>(*device_, *communicator_, clock_, workload, options);
}

std::vector<Duration> ReplayBackend::all_reduce(Dtype dtype, Bytes size, int repetitions,
                                                const std::function<void()>& meet) {
  const Region region = device_->allocate(dtype, size.count() / element_size(dtype));
  meet();
  std::vector<Mark> begins;
  std::vector<Mark> ends;
  for (int i = 0; i < repetitions; ++i) {
    begins.push_back(device_->mark());
    communicator_->wait(communicator_->all_reduce(region));
    ends.push_back(device_->mark());
  }
  device_->synchronise();
  std::vector<Duration> times;
  for (std::size_t i = 0; i < begins.size(); ++i)
    times.push_back(device_->time_of(ends[i]) - device_->time_of(begins[i]));
  device_->forget_marks();
  communicator_->forget_tickets();
  device_->release_memory();
  return times;
}

}  // namespace ddpsim
