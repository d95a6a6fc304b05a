#include "recording.hpp"

#include <algorithm>
#include <utility>

#include "compiled.hpp"

namespace ddpsim {
namespace {

/// Upper limit however many channels there are: compute never quite stops.
constexpr double kMostLoss = 0.9;

}  // namespace

Recording::Recording(const Job& job, const Recorded& recorded)
    : workload_(job.workload()),
      bytes_(job.gradients()),
      recorded_(recorded),
      with_(recorded.recorded_with),
      kernels_(job) {
  const SimulationOptions& options = job.options();
  note_slow_intervals(options,
                      options.recorded_sms > 0 ? options.recorded_sms : job.cluster().gpu.sms);
  note_copies();
  waited_share_ = waited_share();
  note_unused();
  if (compiled_pieces(options.scheme) != nullptr && recorded.backward)
    join_pieces(piece_ends(job, recorded));
}

/// Notes the intervals in which NCCL kernels slowed compute by the SMs that they held.
void Recording::note_slow_intervals(const SimulationOptions& options, int sms) {
  for (const RecordedCollective& collective : with_.collectives) {
    const double loss = options.interference.sm_share * collective.channels / std::max(1, sms);
    if (loss > 0)
      slow_.push_back(
          {collective.start, collective.start + collective.duration, std::min(loss, kMostLoss)});
  }
}

/// The recording does not show when in backward the GPU waited. The wait is spread evenly over
/// backward without its copies.
double Recording::waited_share() const {
  Duration without_copies = backward();
  for (const Duration copy : copies_) without_copies -= copy;
  if (without_copies <= Duration()) return 0;
  return std::min(recorded_.launch_waits.backward / without_copies, 1.0);
}

/// Notes the copy of each gradient; zero for gradients outside DDP.
void Recording::note_copies() {
  if (!has_hooks()) return;
  for (const ReadyEvent& event : recorded_.backward->ready)
    copies_.push_back(in_ddp(event.parameter) ? kernels_.copy(bytes_[event.parameter])
                                              : Duration());
}

void Recording::note_unused() {
  const std::vector<Parameter>& parameters = workload_.parameters;
  std::vector<bool> used(parameters.size(), false);
  std::size_t different = 0;
  for (const ReadyEvent& event : recorded_.backward->ready) {
    if (!used[event.parameter]) ++different;
    used[event.parameter] = true;
  }
  if (different == parameters.size()) return;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (in_ddp(i) && !used[i]) unused_.push_back(i);
}

Duration Recording::reached_before(std::size_t k) const {
  if (k == 0) return Duration();
  const std::vector<ReadyEvent>& ready = recorded_.backward->ready;
  const ReadyEvent& before = ready[k - 1];
  if (!has_hooks() || !in_ddp(before.parameter)) return before.at;
  const Duration next = k < ready.size() ? ready[k].at : backward();
  return std::min(before.copied_at.value_or(before.at + copies_[k - 1]), next);
}

/// Joins the gradients of each piece. The host reaches all of them when it reaches the last.
void Recording::join_pieces(const std::vector<std::size_t>& ends) {
  take_apart();
  in_pieces_ = true;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    if (begin == end) continue;
    GradientInterval& first = intervals_[begin];
    const GradientInterval last = intervals_[end - 1];
    for (std::size_t k = begin; k < end; ++k) {
      GradientInterval& one = intervals_[k];
      one.at = last.at;
      one.host = last.host;
      one.held = last.held;
      if (k == begin) continue;
      first.waited += std::exchange(one.waited, Duration());
      first.compute += std::exchange(one.compute, Duration());
      first.waited_copy += std::exchange(one.waited_copy, Duration());
      first.idle += std::exchange(one.idle, Duration());
      first.kernels += std::exchange(one.kernels, 0);
    }
    begin = end;
  }
}

void Recording::take_apart() {
  if (!intervals_.empty()) return;
  intervals_.reserve(gradients());
  for (std::size_t k = 0; k < gradients(); ++k) intervals_.push_back(taken_apart(k));
}

GradientInterval Recording::taken_apart(std::size_t k) const {
  const ReadyEvent& event = recorded_.backward->ready[k];
  const Duration from = reached_before(k);
  GradientInterval gradient{
      .parameter = event.parameter,
      .bytes = bytes_[event.parameter],
      .waited = waited_of(event.at - from),
      .compute = work_between(from, event.at),
      .waited_copy = {},
      .idle = {},
      .copy = {},
      .at = event.at,
      // If host times were not recorded, the host is one forward ahead of the GPU. (A V100 trace
      // shows it nearly a step ahead.)
      .host = has_host() ? recorded_.host_ready[k] : event.at - recorded_forward(),
      .held = recorded_.host_held.empty() ? Duration() : recorded_.host_held[k],
      .kernels = recorded_.launches ? recorded_.launches->backward[k] : 0};
  if (!has_hooks() || !in_ddp(event.parameter)) return gradient;
  const Duration reached = reached_before(k + 1);
  const Duration kernel = copies_[k];
  const Duration copying = std::min(kernel, reached - event.at);
  gradient.waited_copy = waited_of(reached - event.at - copying);
  const Duration until_copied =
      std::max(without_slowdown(event.at, reached) - gradient.waited_copy, Duration());
  gradient.copy = std::min(kernel, until_copied);
  gradient.idle = until_copied - gradient.copy;
  return gradient;
}

Duration Recording::after_last_gradient() const {
  return work_between(reached_before(gradients()), backward());
}

Duration Recording::waited_after_last() const {
  return waited_of(backward() - reached_before(gradients()));
}

/// Time between two instants of the recording, without the time by which recorded NCCL kernels
/// slowed compute.
Duration Recording::without_slowdown(Duration from, Duration to) const {
  Duration time = to - from;
  for (const SlowInterval& slow : slow_) {
    const Duration overlap = std::min(to, slow.end) - std::max(from, slow.start);
    if (overlap > Duration()) time -= (overlap - waited_of(overlap)).scaled(slow.loss);
  }
  return std::max(time, Duration());
}

Duration Recording::work_between(Duration from, Duration to) const {
  return std::max(without_slowdown(from, to) - waited_of(to - from), Duration());
}

Duration Recording::waited_in_forward() const {
  return std::min(recorded_.launch_waits.forward, recorded_forward());
}

Duration Recording::forward(bool with_buffers) const {
  Duration duration = recorded_forward() - waited_in_forward();
  if (!with_buffers) {
    if (has_hooks())
      for (const BufferGroup& group : workload_.buffers)
        duration -= kernels_.flatten(group) + kernels_.unflatten(group);
    duration -= buffer_broadcast();
  }
  return std::max(duration, Duration());
}

Bytes Recording::gradients_of(const RecordedCollective& collective) const {
  const auto& parameters = workload_.parameters;
  const auto any = std::find_if(parameters.begin(), parameters.end(), is_reduced);
  if (!with_.wire || any == parameters.end()) return collective.bytes;
  return Bytes(collective.bytes.count() / element_size(*with_.wire)) * element_size(any->dtype);
}

std::optional<Duration> Recording::copies_out() const {
  if (!has_hooks() || !with_.finalize) return std::nullopt;
  Duration all;
  const std::vector<ReadyEvent>& ready = recorded_.backward->ready;
  for (const Duration copy : copies_) all += copy;

  Duration last;  // copies of the last bucket
  Bytes left = with_.collectives.empty() ? Bytes() : gradients_of(with_.collectives.back());
  for (std::size_t k = ready.size(); k-- > 0 && left > Bytes();) {
    if (!in_ddp(ready[k].parameter)) continue;
    last += copies_[k];
    left = left - bytes_[ready[k].parameter];
  }

  const Duration tail = with_.exposed.value_or(Duration());
  const Duration filled = *with_.finalize + tail;
  if (last <= Duration() || filled.scaled(1 - last / all) >= tail) return filled;
  return with_.finalize->scaled(all / last);
}

std::optional<std::vector<Duration>> Recording::instants_launched(
    const std::vector<Bucket>& buckets) const {
  if (in_pieces_ || with_.collectives.size() != buckets.size()) return std::nullopt;
  std::vector<Duration> instants;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    if (gradients_of(with_.collectives[b]) != buckets[b].bytes) return std::nullopt;
    instants.push_back(with_.collectives[b].launch);
  }
  return instants;
}

}  // namespace ddpsim
