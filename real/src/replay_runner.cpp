#include "replay_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "gradient_check.hpp"

namespace ddpsim {

ReplayRunner::ReplayRunner(Device& device, Communicator& communicator, HostClock clock,
                           const Workload& workload, const ReducerOptions& options)
    : device_(device),
      communicator_(communicator),
      workload_(workload),
      options_(options),
      clock_(clock),
      reducer_(device, communicator, clock, workload, options),
      recorded_(recorded_by(workload, communicator.rank())) {
  meeting_ = device.allocate(Dtype::float32, 1);
  for (const Region buffer : reducer_.buffers())
    broadcast_.push_back(device.allocate(buffer.dtype, buffer.elements));
  for (std::size_t i = 0; i < workload.parameters.size(); ++i)
    if (is_reduced(workload.parameters[i]))
      device.fill(reducer_.gradient(i), communicator.rank() + 1);
  allocate_fresh();
  note_used(workload);
  for (const RankRecording& rank : workload.ranks) note_used(rank);
}

ReplayRunner::~ReplayRunner() {
  if (std::uncaught_exceptions() > exceptions_) communicator_.abandon();
  try {
    device_.synchronise();
  } catch (const std::exception&) {  // the failed step was already reported
  }
  device_.release_memory();
}

void ReplayRunner::allocate_fresh() {
  if (options_.accumulate == 1) return;
  std::map<Dtype, std::int64_t> most;
  for (std::size_t i = 0; i < workload_.parameters.size(); ++i) {
    const Region gradient = reducer_.gradient(i);
    most[gradient.dtype] = std::max(most[gradient.dtype], gradient.elements);
  }
  for (const auto& [dtype, elements] : most) fresh_[dtype] = device_.allocate(dtype, elements);
}

void ReplayRunner::note_used(const Recorded& recorded) {
  // The representative's recording comes first. With several ranks, it is repeated as the recording
  // of a rank.
  if (!workload_.ranks.empty() && &recorded == &workload_) return;
  std::vector<bool>& used = used_.emplace_back(workload_.parameters.size());
  for (const ReadyEvent& event : recorded.backward->ready) used[event.parameter] = true;
}

/// The host launches one step while the device runs the previous one, but not more. Otherwise
/// launches would fill CUDA's queue. A host waiting on a full queue cannot be woken, and a time-out
/// would have to cover all steps.
void ReplayRunner::run_step(int iteration) {
  constexpr std::size_t kAhead = 2;
  if (steps_.size() >= kAhead) device_.wait_for(steps_[steps_.size() - kAhead].optimizer_end);
  steps_.push_back(step(iteration, false));
}

/// `checked`: gradients and buffers are written with known values. They are copied at the points of
/// the compute stream where forward and optimizer would read them.
ReplayRunner::StepEvents ReplayRunner::step(int iteration, bool checked) {
  StepEvents events;
  if (std::exchange(meets_, false)) communicator_.wait(communicator_.all_reduce(meeting_));
  const Event begin = device_.record_event();
  device_.begin_compute();
  const std::vector<Region>& buffers = reducer_.buffers();
  if (checked)
    for (std::size_t i = 0; i < buffers.size(); ++i)
      write_known(buffers[i], {.parameter = i, .iteration = iteration});
  reducer_.prepare_for_forward(iteration);
  if (checked)
    for (std::size_t i = 0; i < buffers.size(); ++i) device_.copy(buffers[i], broadcast_[i]);
  for (int batch = 0; batch < options_.accumulate; ++batch)
    events.batches.push_back(micro_batch(iteration, batch, checked));
  events.batches.front().forward_begin = begin;
  events.buckets = reducer_.finalize();
  events.map_all_reduce = reducer_.map_all_reduce();
  events.map_awaited = reducer_.map_awaited();
  events.optimizer_begin = device_.record_event();
  device_.begin_compute();
  device_.compute(recorded_.optimizer.value_or(Duration()));
  if (checked && options_.gradient_as_bucket_view)
    for (std::size_t i = 0; i < workload_.parameters.size(); ++i)
      if (is_reduced(workload_.parameters[i]) && reducer_.used_anywhere(i))
        device_.copy(reducer_.averaged(i), reducer_.gradient(i));
  events.optimizer_end = device_.record_event();
  return events;
}

/// Hooks act only in the last micro-batch's backward, because the others run under no_sync.
ReplayRunner::MicroBatchEvents ReplayRunner::micro_batch(int iteration, int batch, bool checked) {
  MicroBatchEvents events;
  if (batch > 0) events.forward_begin = device_.record_event();
  device_.compute(recorded_.forward.value_or(Duration()));
  events.backward_begin = device_.record_event();
  const bool synchronised = batch + 1 == options_.accumulate;
  Duration computed;
  for (const ReadyEvent& event : recorded_.backward->ready) {
    if (!is_reduced(workload_.parameters[event.parameter])) continue;
    device_.compute(event.at - std::exchange(computed, event.at));
    write_gradient({.parameter = event.parameter,
                    .iteration = iteration,
                    .batch = batch,
                    .batches = options_.accumulate},
                   checked);
    if (synchronised) reducer_.gradient_ready(event.parameter);
  }
  if (recorded_.backward->duration > computed)
    device_.compute(recorded_.backward->duration - computed);
  events.backward_end = device_.record_event();
  return events;
}

/// A step's first gradient becomes .grad, and later ones are added to it.
void ReplayRunner::write_gradient(const CheckedPart& part, bool checked) {
  const Region gradient = reducer_.gradient(part.parameter);
  if (part.batch == 0) {
    if (checked) write_known(gradient, part);
    return;
  }
  const Region fresh = fresh_.at(gradient.dtype).part(0, gradient.elements);
  if (checked) write_known(fresh, part);
  device_.add(fresh, gradient);
}

void ReplayRunner::check_step(int iteration) {
  constexpr double kUntouched = -1;  // differs from every average
  for (std::size_t i = 0; i < workload_.parameters.size(); ++i)
    if (is_reduced(workload_.parameters[i]) && !uses(communicator_.rank(), i))
      device_.fill(reducer_.gradient(i), kUntouched);
  step(iteration, true);
  for (std::size_t i = 0; i < workload_.parameters.size(); ++i) {
    if (!is_reduced(workload_.parameters[i])) continue;
    bool used = false;
    for (int rank = 0; rank < communicator_.ranks(); ++rank) used = used || uses(rank, i);
    require_average(i, iteration, used ? std::nullopt : std::optional(kUntouched));
  }
  for (std::size_t i = 0; i < broadcast_.size(); ++i) require_broadcast(i, iteration);
  for (const auto& [dtype, region] : fresh_) device_.fill(region, 0);
}

/// Whether the rank's backward computes a gradient of the parameter.
bool ReplayRunner::uses(int rank, std::size_t parameter) const {
  const std::optional<std::size_t> recording = recording_of(workload_, rank);
  return used_[recording.value_or(0)][parameter];
}

void ReplayRunner::write_known(Region region, CheckedPart part) {
  const std::vector<ElementRange> parts = checked_parts(region.elements);
  for (; part.part < static_cast<int>(parts.size()); ++part.part) {
    const ElementRange& range = parts[static_cast<std::size_t>(part.part)];
    device_.fill(region.part(range.first, range.count),
                 contribution(communicator_.rank(), communicator_.ranks(), part));
  }
}

void ReplayRunner::require_average(std::size_t parameter, int iteration,
                                   std::optional<double> untouched) {
  const Region gradient = reducer_.gradient(parameter);
  const std::vector<double> values = device_.read(gradient);
  const std::vector<ElementRange> parts = checked_parts(gradient.elements);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double expected =
        untouched.value_or(expected_average(communicator_.ranks(),
                                            {.parameter = parameter,
                                             .part = static_cast<int>(i),
                                             .iteration = iteration,
                                             .batches = options_.accumulate},
                                            [&](int rank) { return uses(rank, parameter); }));
    for (std::int64_t e = parts[i].first; e < parts[i].first + parts[i].count; ++e) {
      const double got = values[static_cast<std::size_t>(e)];
      const bool right = untouched
                             ? got == expected
                             : is_average(got, expected, wire_dtype(options_, gradient.dtype));
      if (!right)
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
        contribution(0, communicator_.ranks(),
                     {.parameter = buffer, .part = static_cast<int>(i), .iteration = iteration});
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
    StepRecord record = record_of(events);
    require_sound_clock(record, clock_.now());
    records.push_back(std::move(record));
  }
  steps_.clear();
  meets_ = true;
  device_.forget_marks();
  communicator_.forget_works();
  return records;
}

StepRecord ReplayRunner::record_of(StepEvents& events) {
  const auto at = [this](Event event) { return device_.time_of(event); };
  const MicroBatchEvents& last = events.batches.back();
  StepRecord record{.accumulated = {},
                    .forward_begin = at(last.forward_begin),
                    .backward_begin = at(last.backward_begin),
                    .backward_end = at(last.backward_end),
                    .optimizer_begin = at(events.optimizer_begin),
                    .optimizer_end = at(events.optimizer_end),
                    .map_start = {},
                    .map_end = {},
                    .awaits_map = {},
                    .has_map = {},
                    .buckets = {}};
  for (const MicroBatchEvents& batch : std::span(events.batches).first(events.batches.size() - 1))
    record.accumulated.push_back(
        {at(batch.forward_begin), at(batch.backward_begin), at(batch.backward_end)});
  if (events.map_all_reduce) {
    const CollectiveTimes times = communicator_.times_of(*events.map_all_reduce);
    record.map_start = times.start;
    record.map_end = times.end;
  }
  if (events.map_awaited) {
    record.awaits_map = at(events.map_awaited->first);
    record.has_map = at(events.map_awaited->second);
  }
  for (LaunchedBucket& bucket : events.buckets) {
    const CollectiveTimes times = communicator_.times_of(bucket.work);
    record.buckets.push_back({.parameters = std::move(bucket.parameters),
                              .bytes = bucket.bytes,
                              .ready = at(bucket.ready),
                              .launch_begin = bucket.launch_begin,
                              .launch_end = bucket.launch_end,
                              .start = times.start,
                              .end = times.end,
                              .done = times.done,
                              .copy_out_begin = at(bucket.copy_out_begin),
                              .copy_out_end = at(bucket.copy_out_end)});
  }
  return record;
}

/// The device's clock is compared with the host's once per measurement. A collective cannot start
/// before its launch, nor end later than now.
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
                                                  const ReducerOptions& options) {
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
  // Lets the host's launches queue up first, so that the host's launch speed is not measured.
  constexpr Duration kLaunches =
      Duration::microseconds(100);  // launch time of a repetition, with a margin
  device_->begin_compute();
  device_->compute(kLaunches * repetitions);
  constexpr std::size_t kMarks = 4;  // events per repetition
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
  // Waits for each one, so that a time-out applies to one and not to all together.
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
