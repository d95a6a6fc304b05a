#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "intervals.hpp"
#include "summary.hpp"

namespace ddpsim {
namespace {

/// A span while spans are being ordered. Its text is written at the end, once.
struct Drawn {
  Track track;
  OperationKind kind;
  std::int32_t bucket;  ///< -1: no bucket
  TimePoint start;
  TimePoint end;
  std::span<const std::size_t> parameters{};  ///< whose gradients it holds
  std::string_view waits{};                   ///< if it is a wait: for whom
};

constexpr std::string_view kLaunch = "waits for launch";
constexpr std::string_view kLastRank = "waits for the last rank";
constexpr std::string_view kSlowestGpu = "waits for the slowest GPU";

/// Draws one stream. Neighbours of one purpose (gradient after gradient) become one span, so that
/// backward reads as backward. Copies between them are separate spans.
void draw_stream(Track track, const Program& program, const std::vector<OperationTime>& times,
                 std::vector<Drawn>& spans) {
  std::optional<OperationKind> open;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Operation& operation = program[i];
    if (times[i].end <= times[i].start) continue;
    if (track == Track::compute && waits_for_launch(operation)) {
      spans.push_back({track, operation.purpose, -1, times[i].start, times[i].end, {}, kLaunch});
      open.reset();
    }
    if (operation.action == Action::record || operation.action == Action::wait ||
        operation.action == Action::wait_until)
      continue;
    const bool labelled = operation.action == Action::collective ||
                          operation.purpose == OperationKind::launch ||
                          operation.purpose == OperationKind::copy_out;
    if (!labelled && open == operation.purpose && spans.back().end == times[i].start) {
      spans.back().end = times[i].end;
      continue;
    }
    spans.push_back({track, operation.purpose, operation.bucket, times[i].start, times[i].end});
    open = operation.purpose;
  }
}

/// Draws the compute stream's waits for collectives that wait for another rank.
void draw_waits(const Program& program, const std::vector<OperationTime>& times,
                const std::vector<Interval>& for_ranks, std::string_view whom,
                std::vector<Drawn>& spans) {
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i].action != Action::wait || waits_for_launch(program[i])) continue;
    auto wait = std::ranges::upper_bound(for_ranks, times[i].start, {}, &Interval::end);
    for (; wait != for_ranks.end() && wait->start < times[i].end; ++wait) {
      const TimePoint start = std::max(wait->start, times[i].start);
      const TimePoint end = std::min(wait->end, times[i].end);
      if (start < end)
        spans.push_back({Track::compute, program[i].purpose, -1, start, end, {}, whom});
    }
  }
}

/// Intervals in which a collective has started on this rank and waits for the last one.
std::vector<Interval> waits_for_ranks(const Execution& execution, std::size_t rank) {
  std::vector<Interval> waits;
  for (const CollectiveTime& collective : execution.collectives)
    if (collective.starts[rank] < collective.last_arrival)
      waits.push_back({collective.starts[rank], collective.last_arrival});
  return union_of(std::move(waits));
}

/// Assigns each gradient to the span of backward that wrote it. `parameters` are the gradients', in
/// order.
void hold_written(const std::vector<WrittenGradient>& gradients,
                  std::span<const std::size_t> parameters, const std::vector<OperationTime>& times,
                  std::vector<Drawn>& spans) {
  const auto backward_from = [&](std::vector<Drawn>::iterator first) {
    return std::find_if(first, spans.end(), [](const Drawn& span) {
      return span.track == Track::compute && span.kind == OperationKind::backward &&
             span.waits.empty();
    });
  };
  auto now = backward_from(spans.begin());
  if (now == spans.end()) return;
  auto next = backward_from(now + 1);
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    while (next != spans.end() && next->start < times[gradients[k].operation].end) {
      now = next;
      next = backward_from(now + 1);
    }
    const std::size_t held = now->parameters.size();
    now->parameters = parameters.subspan(k - held, held + 1);
  }
}

/// An all-reduce's span holds all gradients of its bucket.
void hold_carried(const std::vector<Bucket>& buckets, std::vector<Drawn>& spans) {
  for (Drawn& span : spans)
    if (span.track == Track::communication && span.bucket >= 0)
      span.parameters = buckets[static_cast<std::size_t>(span.bucket)].parameters;
}

/// Orders spans by start. A stream and its waits are already in order; collectives of several
/// groups are not. The arguments say where the parts of the list begin: the compute stream, its
/// waits, the communication streams.
void put_in_order(std::vector<Drawn>& spans, std::size_t compute, std::size_t waits,
                  std::size_t communication) {
  const auto at = [&](std::size_t k) { return spans.begin() + static_cast<std::ptrdiff_t>(k); };
  std::ranges::stable_sort(at(communication), spans.end(), {}, &Drawn::start);
  std::ranges::inplace_merge(at(compute), at(waits), at(communication), {}, &Drawn::start);
  std::ranges::inplace_merge(at(compute), at(communication), spans.end(), {}, &Drawn::start);
  std::ranges::inplace_merge(spans, at(compute), {}, &Drawn::start);
}

/// "model averaging, 1/4 of 12.3 ms"
std::string name_of(const ModelAveraging& averaging) {
  if (!averaging.further.empty()) return "model averaging, a step's share";
  const double us = averaging.whole.microseconds();
  return fmt::format(
      "{}, 1/{} of {}", name_of(OperationKind::model_averaging), averaging.period,
      us < 1000 ? fmt::format("{:.3g} us", us) : fmt::format("{:.4g} ms", us / 1000));
}

Span written_out(const Drawn& drawn, const Workload& workload,
                 const std::optional<ModelAveraging>& averaging) {
  Span span{.track = drawn.track,
            .name = std::string(drawn.waits.empty() ? name_of(drawn.kind) : drawn.waits),
            .bucket = std::nullopt,
            .start = drawn.start,
            .end = drawn.end,
            .parameters = span_parameters(workload, drawn.parameters)};
  if (drawn.kind == OperationKind::model_averaging && averaging) span.name = name_of(*averaging);
  if (drawn.bucket >= 0) span.bucket = static_cast<std::size_t>(drawn.bucket);
  return span;
}

}  // namespace

void draw_supply(const StepResult& step, Timeline& timeline) {
  if (!step.data || !step.data->simulated) return;
  for (RankTimeline& rank : timeline.ranks) {
    TimePoint end;
    for (const Span& span : rank.spans)
      if (span.track == Track::compute) end = std::max(end, span.end);
    const TimePoint there = end + step.data->wait;
    if (there > end)
      rank.spans.push_back({.track = Track::host,
                            .name = "waits for data",
                            .bucket = {},
                            .start = end,
                            .end = there});
    if (step.data->copy > Duration())
      rank.spans.push_back({.track = Track::compute,
                            .name = "copy of the batch",
                            .bucket = {},
                            .start = there,
                            .end = there + step.data->copy});
    std::ranges::stable_sort(rank.spans, {}, &Span::start);
  }
}

void note_optimizer(const PlannedStep& planned, const Execution& execution, StepResult& step) {
  const Program& program = planned.schedule.ranks.front().compute;
  const std::vector<OperationTime>& times = execution.ranks.front().compute;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const bool works = program[i].action == Action::work;
    if (!works || program[i].purpose != OperationKind::optimizer) continue;
    if (step.optimizer_end > step.optimizer_start && step.optimizer_end < times[i].start) return;
    if (step.optimizer_end == step.optimizer_start) step.optimizer_start = times[i].start;
    step.optimizer_end = times[i].end;
  }
}

Timeline draw_timeline(const PlannedStep& planned, const Execution& execution,
                       const Workload& workload, const std::vector<Bucket>& buckets,
                       bool slowest_first) {
  Timeline timeline;
  timeline.clock = "simulated; zero is the start of forward on the compute stream of rank 0";
  for (std::size_t r = 0; r < planned.schedule.ranks.size(); ++r) {
    const RankPrograms& programs = planned.schedule.ranks[r];
    const Execution::Rank& times = execution.ranks[r];
    std::vector<Drawn> spans;
    spans.reserve(programs.host.size() + programs.compute.size() + programs.communication.size());
    draw_stream(Track::host, programs.host, times.host, spans);
    const std::size_t compute = spans.size();
    draw_stream(Track::compute, programs.compute, times.compute, spans);
    const std::size_t waits = spans.size();
    draw_waits(programs.compute, times.compute, waits_for_ranks(execution, r),
               slowest_first ? kSlowestGpu : kLastRank, spans);
    const std::size_t communication = spans.size();
    draw_stream(Track::communication, programs.communication, times.communication, spans);
    for (std::size_t i = 0; i < programs.others.size(); ++i)
      draw_stream(Track::communication, programs.others[i], times.others[i], spans);
    std::vector<std::size_t> written;
    for (const WrittenGradient& gradient : planned.gradients[r])
      written.push_back(gradient.parameter);
    hold_written(planned.gradients[r], written, times.compute, spans);
    hold_carried(buckets, spans);
    put_in_order(spans, compute, waits, communication);
    RankTimeline rank{.rank = programs.rank, .spans = {}};
    rank.spans.reserve(spans.size());
    for (const Drawn& span : spans)
      rank.spans.push_back(written_out(span, workload, planned.averaging));
    if (slowest_first) rank.gpu = r == 0 ? "slowest" : "usual";
    timeline.ranks.push_back(std::move(rank));
  }
  return timeline;
}

}  // namespace ddpsim
