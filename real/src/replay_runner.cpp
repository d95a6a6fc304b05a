#include "replay_runner.hpp"

#include <fmt/format.h>

#include <utility>

#include "ddpsim/sim/bucket_assignment.hpp"
#include "gradient_check.hpp"

namespace ddpsim {

ReplayRunner::ReplayRunner(Device& device, Communicator& communicator, HostClock clock,
                           const Workload& workload, const DdpOptions& options)
    : device_(device),
      communicator_(communicator),
      workload_(workload),
      options_(options),
      clock_(clock),
      reducer_(device, communicator, clock, workload, options) {
  meeting_ = device.allocate(Dtype::float32, 1);
  for (const Region buffer : reducer_.buffers())
    broadcast_.push_back(device.allocate(buffer.dtype, buffer.elements));
  for (std::size_t i = 0; i < workload.parameters.size(); ++i)
    if (!workload.parameters[i].ignored) device.fill(reducer_.gradient(i), communicator.rank() + 1);
}

ReplayRunner::~ReplayRunner() {
  if (std::uncaught_exceptions() > exceptions_) communicator_.abandon();
  try {
    device_.synchronise();
  } catch (const std::exception&) {  // a step failed; that has been said
  }
  device_.release_memory();
}

/// The host launches one step while the device runs the one before, and no further: launches would fill CUDA's queue,
/// where a host waits that nobody can wake, and a time-out would be that of all steps together.
void ReplayRunner::run_step(int iteration) {
  constexpr std::size_t kAhead = 2;
  if (steps_.size() >= kAhead) device_.wait_for(steps_[steps_.size() - kAhead].optimizer_end);
  steps_.push_back(step(iteration, false));
}

/// `checked`: gradients and buffers are written anew, and kept where forward and optimizer would
/// read them: on the compute stream, when it comes there.
ReplayRunner::StepEvents ReplayRunner::step(int iteration, bool checked) {
  StepEvents events;
  if (std::exchange(meets_, false)) communicator_.wait(communicator_.all_reduce(meeting_));
  events.forward_begin = device_.record_event();
  device_.begin_compute();
  const std::vector<Region>& buffers = reducer_.buffers();
  if (checked)
    for (std::size_t i = 0; i < buffers.size(); ++i) write_known(buffers[i], i, iteration);
  reducer_.prepare_for_forward(iteration);
  if (checked)
    for (std::size_t i = 0; i < buffers.size(); ++i) device_.copy(buffers[i], broadcast_[i]);
  device_.compute(workload_.forward.value_or(Duration()));
  events.backward_begin = device_.record_event();
  Duration reached;
  for (const ReadyEvent& event : workload_.backward->ready) {
    device_.compute(event.at - reached);
    reached = event.at;
    if (checked && !workload_.parameters[event.parameter].ignored)
      write_known(reducer_.gradient(event.parameter), event.parameter, iteration);
    reducer_.gradient_ready(event.parameter);
  }
  if (workload_.backward->duration > reached)
    device_.compute(workload_.backward->duration - reached);
  events.backward_end = device_.record_event();
  events.buckets = reducer_.finalize();
  events.optimizer_begin = device_.record_event();
  device_.begin_compute();
  device_.compute(workload_.optimizer.value_or(Duration()));
  if (checked && options_.gradient_as_bucket_view)
    for (std::size_t i = 0; i < workload_.parameters.size(); ++i)
      if (!workload_.parameters[i].ignored)
        device_.copy(reducer_.averaged(i), reducer_.gradient(i));
  events.optimizer_end = device_.record_event();
  return events;
}

void ReplayRunner::check_step(int iteration) {
  step(iteration, true);
  for (std::size_t i = 0; i < workload_.parameters.size(); ++i)
    if (!workload_.parameters[i].ignored) require_average(i, iteration);
  for (std::size_t i = 0; i < broadcast_.size(); ++i) require_broadcast(i, iteration);
}

void ReplayRunner::write_known(Region region, std::size_t parameter, int iteration) {
  const std::vector<ElementRange> parts = checked_parts(region.elements);
  for (std::size_t i = 0; i < parts.size(); ++i)
    device_.fill(region.part(parts[i].first, parts[i].count),
                 contribution(communicator_.rank(), communicator_.ranks(),
                              {parameter, static_cast<int>(i), iteration}));
}

void ReplayRunner::require_average(std::size_t parameter, int iteration) {
  const Region gradient = reducer_.gradient(parameter);
  const std::vector<double> values = device_.read(gradient);
  const std::vector<ElementRange> parts = checked_parts(gradient.elements);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double expected =
        expected_average(communicator_.ranks(), {parameter, static_cast<int>(i), iteration});
    for (std::int64_t e = parts[i].first; e < parts[i].first + parts[i].count; ++e) {
      const double got = values[static_cast<std::size_t>(e)];
      if (!is_average(got, expected, wire_dtype(options_, gradient.dtype)))
        throw WrongAverage(
            fmt::format("wrong average in bucket {}, parameter {}, element {}: got {}, expected {} "
                        "(rank {}, step {})",
                        reducer_.bucket_of(parameter), workload_.parameters[parameter].name, e, got,
                        expected, communicator_.rank(), iteration));
    }
  }
}

void ReplayRunner::require_broadcast(std::size_t buffer, int iteration) {
  const std::vector<double> values = device_.read(broadcast_[buffer]);
  const std::vector<ElementRange> parts = checked_parts(broadcast_[buffer].elements);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double expected =
        contribution(0, communicator_.ranks(), {buffer, static_cast<int>(i), iteration});
    for (std::int64_t e = parts[i].first; e < parts[i].first + parts[i].count; ++e)
      if (const double got = values[static_cast<std::size_t>(e)]; got != expected)
        throw WrongAverage(
            fmt::format("wrong broadcast of buffer group {}, element {}: got {}, expected {} (rank "
                        "{}, step {})",
                        buffer, e, got, expected, communicator_.rank(), iteration));
  }
}

std::vector<StepRecord> ReplayRunner::records() {
  device_.synchronise();
  std::vector<StepRecord> records;
  for (StepEvents& events : steps_) {
    StepRecord record{.forward_begin = device_.time_of(events.forward_begin),
                      .backward_begin = device_.time_of(events.backward_begin),
                      .backward_end = device_.time_of(events.backward_end),
                      .optimizer_begin = device_.time_of(events.optimizer_begin),
                      .optimizer_end = device_.time_of(events.optimizer_end),
                      .buckets = {}};
    for (LaunchedBucket& bucket : events.buckets) {
      const CollectiveTimes times = communicator_.times_of(bucket.work);
      record.buckets.push_back({.parameters = std::move(bucket.parameters),
                                .bytes = bucket.bytes,
                                .ready = device_.time_of(bucket.ready),
                                .launch_begin = bucket.launch_begin,
                                .launch_end = bucket.launch_end,
                                .start = times.start,
                                .end = times.end,
                                .done = times.done,
                                .copy_out_begin = device_.time_of(bucket.copy_out_begin),
                                .copy_out_end = device_.time_of(bucket.copy_out_end)});
    }
    require_sound_clock(record, clock_.now());
    records.push_back(std::move(record));
  }
  steps_.clear();
  meets_ = true;
  device_.forget_marks();
  communicator_.forget_works();
  return records;
}

/// The device's clock is laid beside the host's once a measurement. What it says of a collective cannot be earlier
/// than its launch, nor later than now.
void ReplayRunner::require_sound_clock(const StepRecord& record, TimePoint now) {
  constexpr Duration kDrift = Duration::milliseconds(1);
  for (const BucketRecord& bucket : record.buckets) {
    if (bucket.start + kDrift < bucket.launch_begin || now + kDrift < bucket.end)
      throw std::runtime_error(fmt::format(
          "the device's clock is not the host's: an all-reduce launched at {:.3f} ms runs from "
          "{:.3f} to {:.3f} ms, and "
          "it is {:.3f} ms now",
          (bucket.launch_begin - TimePoint()).milliseconds(),
          (bucket.start - TimePoint()).milliseconds(), (bucket.end - TimePoint()).milliseconds(),
          (now - TimePoint()).milliseconds()));
  }
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

std::vector<AllReduceTimes> ReplayBackend::all_reduce(Dtype dtype, Bytes size, int repetitions,
                                                      const std::function<void()>& meet) {
  const std::int64_t elements = size.count() / element_size(dtype);
  const bool hooked = dtype != Dtype::float32;
  const Region wide = device_->allocate(Dtype::float32, elements);
  const Region region = hooked ? device_->allocate(dtype, elements) : wide;
  device_->fill(wide, 1.5);
  meet();
  // Behind this the host's launches pile up, so what is timed is not how fast it makes them.
  constexpr Duration kLaunches = Duration::microseconds(100);  // of a repetition, and more
  device_->begin_compute();
  device_->compute(kLaunches * repetitions);
  constexpr std::size_t kMarks = 4;  // a repetition
  std::vector<Event> events;
  for (int i = 0; i < repetitions; ++i) {
    events.push_back(device_->record_event());
    if (hooked) device_->cast(wide, region);
    device_->scale_copy(region, region, 1.0 / communicator_->ranks());
    events.push_back(device_->record_event());
    communicator_->wait(communicator_->all_reduce(region));
    events.push_back(device_->record_event());
    if (hooked) device_->cast(region, wide);
    events.push_back(device_->record_event());
  }
  // One by one: a time-out is that of one, not of all together.
  for (std::size_t i = kMarks - 1; i < events.size(); i += kMarks) device_->wait_for(events[i]);
  device_->synchronise();
  const auto between = [&](std::size_t first, std::size_t last) {
    return device_->time_of(events[last]) - device_->time_of(events[first]);
  };
  std::vector<AllReduceTimes> times;
  for (std::size_t i = 0; i < events.size(); i += kMarks) {
    times.push_back({.all_reduce = between(i + 1, i + 2)});
    if (!hooked) continue;
    times.back().compress = between(i, i + 1);
    times.back().decompress = between(i + 2, i + 3);
  }
  device_->forget_marks();
  communicator_->forget_works();
  device_->release_memory();
  return times;
}

}  // namespace ddpsim
