#include "shared_network_run.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {

SharedNetworkRun::SharedNetworkRun(FlowPlanner& planner,
                                   std::span<const ScheduledCollective> collectives,
                                   std::span<const std::optional<CollectiveChoice>> choices,
                                   CostFactors factors)
    : planner_(planner), factors_(factors) {
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const ScheduledCollective& collective = collectives[i];
    modelled_.push_back(collective.transfer);
    least_.push_back(choices[i] ? planner.least(collective.kind, *choices[i], collective.size)
                                : Duration());
    fixed_.push_back((collective.transfer - collective.volume).scaled(1 / factors_.fixed));
    own_.emplace_back();
    if (choices[i] && planner.has_channels(collective.kind, *choices[i]))
      own_.back() = planner.transfer(collective.kind, *choices[i], collective.size);
  }
  for (const NetworkJob& job : planner.background()) due_.push_back(job.recurrence->first);
}

Duration SharedNetworkRun::transfer(std::size_t collective, TimePoint last_arrival) {
  if (!own_[collective]) return modelled_[collective];
  // A scaled transfer may end before its links are free, so the next one starts later.
  const TimePoint start = std::max(now_, last_arrival);
  now_ = run(collective, start);
  const Duration time = now_ - start;
  return factors_.apply(time, time - std::min(fixed_[collective], time), least_[collective]);
}

TimePoint SharedNetworkRun::run(std::size_t collective, TimePoint start) {
  const auto& [pipeline, alone] = *own_[collective];
  advance(start, *pipeline.shape);
  const TimePoint end = start + alone;
  if (!meeting_ &&
      std::ranges::all_of(due_, [&](std::optional<TimePoint> due) { return !due || end <= *due; }))
    return end;
  meet(*pipeline.shape);
  meeting_->starts.push_back({collective, start});
  return join(meeting_->starts.back());
}

/// Brings the background to that time, at which a pipeline of this shape begins.
void SharedNetworkRun::advance(TimePoint until, const PipelineShape& next) {
  while (meeting_ || !skip(until)) {
    if (!meeting_) meet(next);
    if (!meeting_->network->run_until(until)) return;
    for (std::size_t job = 0; job < due_.size(); ++job) due_[job] = meeting_->network->due(job + 1);
    meeting_.reset();
  }
}

/// Lets background pass that overlaps with nothing until that time. Returns whether there is no
/// other.
bool SharedNetworkRun::skip(TimePoint until) {
  for (;;) {
    std::size_t first = 0;
    TimePoint limit = until;  // start of the next but one
    TimePoint earliest = until;
    for (std::size_t job = 0; job < due_.size(); ++job) {
      if (!due_[job] || *due_[job] >= limit) continue;
      if (*due_[job] < earliest) {
        limit = std::exchange(earliest, *due_[job]);
        first = job;
      } else {
        limit = *due_[job];
      }
    }
    if (earliest == until) return true;
    const Duration alone = planner_.background_alone(first);
    if (earliest + alone > limit) return false;
    const Duration period = planner_.background()[first].recurrence->period;
    if (period == Duration()) {
      due_[first].reset();
      continue;
    }
    const Duration again = std::max(period, alone);
    const std::int64_t more = (limit - earliest - alone).picoseconds() / again.picoseconds();
    due_[first] = earliest + (more + 1) * again;
  }
}

/// From now on, own pipelines of this shape may join.
void SharedNetworkRun::meet(const PipelineShape& shape) {
  if (!meeting_) meeting_.emplace().due = due_;
  std::vector<const PipelineShape*>& shapes = meeting_->shapes;
  if (std::ranges::find(shapes, &shape) != shapes.end()) return;
  shapes.push_back(&shape);
  simulate_again();
}

/// Simulates the meeting from its beginning, folded for its shapes.
void SharedNetworkRun::simulate_again() {
  Meeting& meeting = *meeting_;
  const FoldedNetwork& folded = planner_.folded(meeting.shapes);
  std::vector<NetworkJob> jobs(1);
  meeting.places.assign(own_.size(), 0);
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (!own_[i]) continue;
    const auto found = std::ranges::find(meeting.shapes, own_[i]->pipeline.shape);
    if (found == meeting.shapes.end()) continue;
    meeting.places[i] = jobs[0].pipelines.size();
    jobs[0].pipelines.push_back(own_[i]->pipeline);
    jobs[0].pipelines.back().shape =
        &folded.shapes[static_cast<std::size_t>(found - meeting.shapes.begin())];
  }
  for (std::size_t job = 0; job < meeting.due.size(); ++job) {
    jobs.emplace_back();
    if (!meeting.due[job]) continue;
    const NetworkJob& background = planner_.background()[job];
    jobs.back().pipelines = background.pipelines;
    jobs.back().pipelines[0].shape = &folded.shapes[meeting.shapes.size() + job];
    jobs.back().recurrence = {*meeting.due[job], background.recurrence->period};
  }
  meeting.network.emplace(folded.links, std::move(jobs));
  for (const Start& start : meeting.starts) join(start);
}

TimePoint SharedNetworkRun::join(const Start& start) {
  meeting_->network->start(0, meeting_->places[start.collective], start.at);
  return meeting_->network->run(0);
}

}  // namespace ddpsim
