#include "host_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "step_sample.hpp"

namespace ddpsim {
namespace {

struct HostInterval {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  std::int64_t within(std::int64_t from, std::int64_t to) const {
    return std::max<std::int64_t>(0, std::min(to_ns, to) - std::max(from_ns, from));
  }
};

/// Makes `all` the union of both, in order.
void add(const std::vector<HostInterval>& more, std::vector<HostInterval>& all) {
  all.insert(all.end(), more.begin(), more.end());
  std::ranges::sort(all, {}, &HostInterval::from_ns);
  std::vector<HostInterval> disjoint;
  for (const HostInterval& one : all) {
    if (!disjoint.empty() && one.from_ns <= disjoint.back().to_ns)
      disjoint.back().to_ns = std::max(disjoint.back().to_ns, one.to_ns);
    else
      disjoint.push_back(one);
  }
  all = std::move(disjoint);
}

std::int64_t within(const std::vector<HostInterval>& intervals, std::int64_t from,
                    std::int64_t to) {
  std::int64_t sum = 0;
  for (const HostInterval& one : intervals) sum += one.within(from, to);
  return sum;
}

/// From the first launch of a part to its last.
struct Part {
  std::int64_t launches = 0;
  HostInterval span;
  void add(std::int64_t launch_ns) {
    if (launches++ == 0) span.from_ns = launch_ns;
    span.to_ns = launch_ns;
  }
};

class HostReader {
 public:
  HostReader(const TraceRecords& records, const HostSpan& span, const RecordedStep& step,
             std::int64_t optimizer_ns)
      : records_(records),
        step_(step),
        optimizer_ns_(optimizer_ns),
        activities_(records.launched_within(span)) {
    for (const HostSpan& call :
         records.nodes(TraceRecords::Node::held, span.start_ns, span.end_ns)) {
      const bool backward = records.is_autograd_thread(call.thread);
      (backward ? held_in_backward_ : held_elsewhere_).push_back({call.start_ns, call.end_ns});
    }
    for (const HostSpan& call :
         records.nodes(TraceRecords::Node::loading, span.start_ns, span.end_ns))
      (records.is_autograd_thread(call.thread) ? other_in_backward_ : other_elsewhere_)
          .push_back({call.start_ns, call.end_ns});
    for (const RecordedGradient& gradient : step.gradients)
      if (gradient.hooks_end_ns && *gradient.hooks_end_ns > gradient.host_ns)
        other_in_backward_.push_back({gradient.host_ns, *gradient.hooks_end_ns});
    add(held_in_backward_, other_in_backward_);
    add(held_elsewhere_, other_elsewhere_);
  }

  HostRecording read() {
    count_launches();
    note_cost();
    note_waits();
    note_held();
    return std::move(host_);
  }

 private:
  void count_launches();
  void note_cost();
  void note_waits();
  void note_held();
  /// Whether the host was in the hooks of the previous gradient.
  bool in_hooks(std::int64_t host_ns, std::size_t next) const {
    return next > 0 && step_.gradients[next - 1].hooks_end_ns > host_ns;
  }

  const TraceRecords& records_;
  const RecordedStep& step_;
  const std::int64_t optimizer_ns_;
  std::vector<Activity> activities_;  ///< in launch order
  std::vector<HostInterval> held_in_backward_;
  std::vector<HostInterval> held_elsewhere_;
  std::vector<HostInterval> other_in_backward_;  ///< those, and everything else but launching
  std::vector<HostInterval> other_elsewhere_;
  Part forward_;
  Part backward_;
  Part optimizer_;
  HostRecording host_;
};

void HostReader::count_launches() {
  Launches& launches = host_.launches;
  launches.backward.assign(step_.gradients.size(), 0);
  std::size_t next = 0;  // index of the next gradient
  std::optional<std::int64_t> before;
  for (const Activity& one : activities_) {
    // All activities of a graph have the same launch.
    if (std::exchange(before, one.launch_ns) == one.launch_ns || one.nccl) continue;
    if (one.launch_ns < step_.backward_called_ns) {
      forward_.add(one.launch_ns);
    } else if (records_.is_autograd_thread(one.thread)) {
      while (next < step_.gradients.size() && step_.gradients[next].host_ns <= one.launch_ns)
        ++next;
      if (next == step_.gradients.size() || in_hooks(one.launch_ns, next)) continue;
      backward_.add(one.launch_ns);
      ++launches.backward[next];
    } else if (one.launch_ns > step_.backward_returned_ns) {
      optimizer_.add(one.launch_ns);
    }
  }
  launches.forward = forward_.launches;
  launches.optimizer = optimizer_.launches;
}

void HostReader::note_cost() {
  const auto each = [](std::int64_t host_ns, std::int64_t launches) {
    return launches > 0 ? span(0, std::max<std::int64_t>(host_ns, 0) / launches) : Duration();
  };
  const auto launching = [](const Part& part, const std::vector<HostInterval>& other) {
    return part.span.to_ns - part.span.from_ns - within(other, part.span.from_ns, part.span.to_ns);
  };
  if (forward_.launches > 0) forward_.span.to_ns = step_.backward_called_ns;
  host_.launches.cost = {
      .forward = each(launching(forward_, other_elsewhere_), forward_.launches),
      .backward = each(launching(backward_, other_in_backward_), backward_.launches - 1),
      .optimizer = each(launching(optimizer_, other_elsewhere_), optimizer_.launches - 1)};
}

void HostReader::note_waits() {
  std::vector<Activity> running = activities_;
  std::erase_if(running, [&](const Activity& one) {
    return one.nccl && records_.is_autograd_thread(one.thread);
  });
  std::ranges::stable_sort(running, {}, &Activity::start_ns);
  const std::int64_t reaches_ns = DdpCosts().launch_latency.picoseconds() / 1000;
  std::vector<HostInterval> waits;
  std::int64_t busy_until_ns = running.empty() ? 0 : running.front().end_ns;
  for (const Activity& one : running) {
    if (one.launch_ns > busy_until_ns)
      waits.push_back({busy_until_ns, std::min(one.start_ns, one.launch_ns + reaches_ns)});
    busy_until_ns = std::max(busy_until_ns, one.end_ns);
  }
  const auto of = [&](std::int64_t from_ns, std::int64_t to_ns) {
    return span(0, within(waits, from_ns, to_ns));
  };
  host_.launch_waits = {.forward = of(step_.first_ns, step_.backward_start_ns),
                        .backward = of(step_.backward_start_ns, step_.backward_end_ns),
                        .optimizer = of(optimizer_ns_, step_.last_ns)};
}

void HostReader::note_held() {
  const std::int64_t first_ns = activities_.front().launch_ns;
  const std::int64_t called_ns = step_.backward_called_ns;
  const std::int64_t before = within(held_elsewhere_, first_ns, called_ns);
  for (const RecordedGradient& gradient : step_.gradients)
    host_.held.push_back(span(0, before + within(held_in_backward_, called_ns, gradient.host_ns)));
  if (std::ranges::all_of(host_.held, [](Duration held) { return held == Duration(); }))
    host_.held.clear();
}

}  // namespace

HostRecording host_recording(const TraceRecords& records, const HostSpan& span,
                             const RecordedStep& step, std::int64_t optimizer_ns) {
  return HostReader(records, span, step, optimizer_ns).read();
}

std::string words_for(const HostRecording& host, bool compacted) {
  const Launches& launches = host.launches;
  const PartTimes& cost = *launches.cost;
  const PartTimes& waits = host.launch_waits;
  const std::int64_t backward = launches.of_backward();
  const std::string counted = fmt::format("the host launches {} kernels of the model a step",
                                          launches.forward + backward + launches.optimizer);
  if (compacted) return counted;
  // A cost is measured between two launches, so a single launch has none.
  const auto part = [](std::int64_t kernels, std::string_view where, Duration each) {
    return each.microseconds() < 0.05
               ? fmt::format("{} in {}", kernels, where)
               : fmt::format("{} in {} ({:.1f} us each)", kernels, where, each.microseconds());
  };
  return fmt::format(
      "{}: {}, {} and {}, with the profiler's share; the GPU waits {:.3f} ms for launches", counted,
      part(launches.forward, "forward", cost.forward), part(backward, "backward", cost.backward),
      part(launches.optimizer, "the optimizer", cost.optimizer),
      (waits.forward + waits.backward + waits.optimizer).seconds() * 1e3);
}

}  // namespace ddpsim
