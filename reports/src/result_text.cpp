#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ddpsim/reports/reports.hpp"
#include "overlap_drawing.hpp"
#include "rank_lines.hpp"
#include "report_lines.hpp"
#include "text_layout.hpp"
#include "timeline_difference_report.hpp"

namespace ddpsim {
namespace {

double percent_of(Duration part, Duration whole) {
  return whole == Duration() ? 0 : 100 * (part / whole);
}

/// Whether it decides anything to what the time is put down that the replay misses.
bool differ(const ReportContext& context) {
  constexpr double kApart = 0.01;  // of the step: what can be measured
  if (!context.correction) return false;
  const StepTimes& one = context.correction->all_compute.times;
  const StepTimes& other = context.correction->all_communication.times;
  return std::abs(one.exposed_communication / one.iteration -
                  other.exposed_communication / other.iteration) >= kApart;
}

std::string exposed_either_way(const MeasuredCorrection& correction) {
  const auto share = [](const Explanation& explanation) {
    const StepTimes& times = explanation.times;
    return percent_text(percent_of(times.exposed_communication, times.iteration));
  };
  return fmt::format(
      "{} of it is exposed communication if compute takes what the replay misses, {} if "
      "collectives do.",
      share(correction.all_compute), share(correction.all_communication));
}

std::string verdict(const StepTimes& times, const ReportContext& context) {
  const bool measured = is_measured(context, times.iteration);
  std::string text =
      fmt::format("{}: {} a step{}; ", subject(context),
                  time_text(times.iteration, measured ? 3 : digits_of(context.confidence.grade)),
                  measured ? ", as measured" : "");
  if (context.replay && context.replay->contradicted())
    return text +
           fmt::format(
               "but today's was measured at {}: another job was recorded, or a unit slipped.",
               time_text(context.replay->measured, 3));
  if (differ(context)) return text + exposed_either_way(*context.correction);
  if (times.exposed_communication > Duration()) {
    text += fmt::format("{} of it is exposed communication",
                        percent_text(percent_of(times.exposed_communication, times.iteration)));
    if (times.overlap) text += fmt::format(" ({} hidden)", percent_text(100 * *times.overlap));
    return text + '.';
  }
  return text + (times.overlap ? "all communication is hidden." : "no communication.");
}

/// Samples all ranks take in a second, where the step's samples are known.
std::string throughput_line(const StepTimes& times, const ReportContext& context) {
  const auto rate = context.samples_per_second(times.iteration);
  if (!rate) return "";
  return fmt::format("{} samples/s over all GPUs.\n",
                     significant(*rate, digits_of(context.confidence.grade)));
}

std::string breakdown(const StepTimes& times, const ReportContext& context, int digits,
                      const TerminalStyle& style) {
  constexpr int kWithoutBar = 50;
  const int bar_cells = std::clamp(style.width - kWithoutBar, 8, 30);
  const TimeUnit unit = unit_for(times.iteration);
  // Beside it the same step, put down to collectives.
  const StepTimes* other = differ(context) ? &context.correction->all_communication.times : nullptr;
  std::vector<Column> columns = {{"where the step goes"},
                                 {std::string(name_of(unit)), Align::decimal},
                                 {"share", Align::right},
                                 {"", Align::left, 1}};
  if (other) columns.push_back({"if collectives", Align::decimal, 2});
  Table table(std::move(columns));
  const auto add_cells = [&](const char* name, Duration StepTimes::*part, std::string share,
                             std::string shown) {
    std::vector<std::string> cells = {name, time_number(times.*part, digits, unit),
                                      std::move(share), std::move(shown)};
    if (other) cells.push_back(time_number(other->*part, digits, unit));
    table.add_row(std::move(cells));
  };
  const auto add = [&](const char* name, Duration StepTimes::*part) {
    const double percent = percent_of(times.*part, times.iteration);
    add_cells(name, part, percent_text(percent), bar(percent / 100, bar_cells));
  };
  const auto add_within = [&](const char* name, Duration StepTimes::*part) {
    if (times.*part != Duration()) add_cells(name, part, "", "");
  };
  add("forward", &StepTimes::forward);
  add_within("  of it buffer broadcast", &StepTimes::buffer_broadcast);
  add("backward", &StepTimes::backward);
  add_within("  of it copies into buckets", &StepTimes::copies_in);
  add_within("  of it slowed by NCCL", &StepTimes::interference);
  if (times.sync_batchnorm != Duration()) add("SyncBatchNorm", &StepTimes::sync_batchnorm);
  if (times.slowest_gpu != Duration()) add("waiting for the slowest GPU", &StepTimes::slowest_gpu);
  if (times.unexplained != Duration()) add("several GPUs, unexplained", &StepTimes::unexplained);
  add("exposed communication", &StepTimes::exposed_communication);
  add("finalize (copies out)", &StepTimes::finalize);
  add("optimizer", &StepTimes::optimizer);
  if (times.stall != Duration()) add("stall and gaps", &StepTimes::stall);
  add_cells("step", &StepTimes::iteration, "100 %", "");
  return table.text(style);
}

std::string communication_line(const StepTimes& times, int digits, const TerminalStyle& style) {
  if (!times.overlap) return "";
  std::string text =
      fmt::format("Communication runs for {}", time_text(times.communication, digits));
  if (times.wait > Duration()) {
    text += fmt::format(", after {} of waiting for the last rank", time_text(times.wait, digits));
  }
  return wrapped(text + '.', style.width, 2);
}

/// Where the next step begins before this one has ended.
std::string pipeline_line(const StepTimes& times, int digits, const TerminalStyle& style) {
  if (times.forward_ahead <= Duration()) return "";
  return wrapped(
      fmt::format(
          "Steps overlap: each forward begins {} before the step before it has ended. That much of "
          "it is counted, and drawn, with that step; instants of buckets count from the start of "
          "forward all the same.",
          time_text(times.forward_ahead, digits)),
      style.width, 2);
}

std::string choice_text(const std::optional<CollectiveChoice>& choice, Backend backend) {
  if (backend == Backend::gloo) return "ring";
  if (!choice) return "as recorded";
  return fmt::format("{} {} x{}", name_of(choice->algorithm), name_of(choice->protocol),
                     choice->channels);
}

constexpr std::size_t kMostRows = 24;
constexpr std::size_t kRowsAtStart = 12;

std::string bucket_table(const StepResult& step, Backend backend, int digits,
                         const TerminalStyle& style) {
  const TimeUnit unit = unit_for(step.times.iteration);
  constexpr double kApart = 0.01;  // of the step: what two instants are told apart by
  std::vector<Duration> instants;
  for (const BucketResult& bucket : step.buckets)
    for (const TimePoint instant : {bucket.ready, bucket.launch, bucket.start, bucket.end})
      instants.push_back(instant.since_start());
  const int instant_digits =
      digits_apart(std::move(instants), digits, step.times.iteration.scaled(kApart), unit);
  const TimePoint backward_end = end_of_backward(step.times);
  Table table({{"bucket", Align::right},
               {"MiB", Align::right},
               {"bytes", Align::right, 5},
               {"tensors", Align::right, 6},
               {"ready", Align::decimal, 2},
               {"launch", Align::decimal, 4},
               {"start", Align::decimal},
               {"end", Align::decimal},
               {"transfer", Align::decimal, 1},
               {backend == Backend::gloo ? "gloo" : "NCCL", Align::left, 3},
               {"exposed", Align::left}});
  const auto time = [&](TimePoint t) { return time_number(t.since_start(), instant_digits, unit); };
  const std::size_t count = step.buckets.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kMostRows && i == kRowsAtStart) {
      const std::size_t skipped = count - kMostRows + 1;
      table.add_row({"…", "", "", "", "", "", "", "", "", "", fmt::format("{} more", skipped)});
      i += skipped - 1;
      continue;
    }
    const BucketResult& bucket = step.buckets[i];
    const bool hidden = bucket.end <= backward_end;
    table.add_row(
        {std::to_string(i), mebibytes(bucket.bucket.bytes),
         std::to_string(bucket.bucket.bytes.count()),
         std::to_string(bucket.bucket.parameters.size()), time(bucket.ready), time(bucket.launch),
         time(bucket.start), time(bucket.end),
         time_number(bucket.end - bucket.last_arrival, digits, unit),
         choice_text(bucket.choice, backend),
         hidden ? "hidden"
                : time_text(bucket.end - std::max(bucket.start, backward_end), digits, unit)});
  }
  return wrapped(
             fmt::format("Buckets in launch order, {} from the start of forward (launch: the host "
                         "enqueues, ahead of the GPU; start: the collective runs there):",
                         name_of(unit)),
             style.width, 2) +
         table.text(style);
}

/// Why buckets are exposed, equal reasons of neighbours told once.
std::string exposed_lines(const std::vector<BucketResult>& buckets, const TerminalStyle& style) {
  constexpr int kMostLines = 6;
  std::string lines;
  int written = 0;
  for (std::size_t i = 0; i < buckets.size();) {
    std::size_t last = i;
    while (last + 1 < buckets.size() &&
           buckets[last + 1].exposed_because == buckets[i].exposed_because) {
      ++last;
    }
    if (!buckets[i].exposed_because.empty() && ++written <= kMostLines) {
      const std::string which =
          i == last ? fmt::format("Bucket {}", i) : fmt::format("Buckets {} to {}", i, last);
      lines += wrapped(fmt::format("{} exposed: {}", which, printable(buckets[i].exposed_because)),
                       style.width, 2);
    }
    i = last + 1;
  }
  return lines;
}

}  // namespace

std::string result_text(const SimulationResult& result, const ReportContext& context,
                        const Workload& workload, const TerminalStyle& style) {
  const StepTimes& times = result.step.times;
  const int digits = digits_of(context.confidence.grade);
  std::string text = bold(verdict(times, context), style) + '\n';
  text += rank_lines(result, context, digits, style);
  text += replay_line(context, style);
  text += recorded_line(context, style);
  text += confidence_line(context, times.iteration, style);
  text += throughput_line(times, context);
  text += setting_line(context, style);
  text += '\n' + breakdown(times, context, digits, style);
  text += communication_line(times, digits, style);
  text += pipeline_line(times, digits, style);
  if (const std::string drawing = overlap_drawing(result, style, digits); !drawing.empty()) {
    text += '\n' + drawing;
  }
  if (!result.step.buckets.empty()) {
    text += '\n' + bucket_table(result.step, context.backend, digits, style);
    text += exposed_lines(result.step.buckets, style);
  }
  if (workload.parameter_order == ParameterOrder::assumed) {
    text += wrapped("Parameter order is assumed: bucket contents may differ from the real run.",
                    style.width, 2);
  }
  if (context.measured) text += '\n' + difference_text(*context.measured, style);
  text += warning_lines(context, style);
  return text + hint_line(context, style);
}

}  // namespace ddpsim
