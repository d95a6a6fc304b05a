#include "loss_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "report_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

/// In the order of the enumeration.
constexpr std::array<std::string_view, kLossCauses> kLabels = {"DDP's copies",
                                                               "DDP's hooks (host)",
                                                               "compute slowed by NCCL",
                                                               "slowest GPU",
                                                               "waiting for stragglers",
                                                               "waiting due to jitter",
                                                               "exposed all-reduces",
                                                               "map of used parameters",
                                                               "buffer broadcast",
                                                               "SyncBatchNorm",
                                                               "model averaging",
                                                               "exposed all-gathers",
                                                               "exposed reduce-scatters",
                                                               "exposed broadcasts",
                                                               "sharded optimizer",
                                                               "CPU offload (host)",
                                                               "waiting for kernel launches",
                                                               "waiting for input",
                                                               "multi-GPU overhead"};

Duration magnitude(Duration time) {
  return std::max(time, -time);
}

/// Every cause that takes time, the largest first.
std::vector<LossCause> by_size(const Loss& loss) {
  std::vector<LossCause> causes;
  for (const LossCause cause : all_loss_causes())
    if (loss[cause] != Duration()) causes.push_back(cause);
  std::ranges::stable_sort(causes, [&](LossCause a, LossCause b) { return loss[a] > loss[b]; });
  return causes;
}

/// Share of the step from which one GPU's own wait for the host has a line.
constexpr double kLittle = 0.01;

/// The losses as printed: one GPU's own step, then each loss. All have the resolution of the
/// largest and add up to the step.
struct Losses {
  explicit Losses(const StepTimes& step) : unit(unit_for(step.iteration)) {
    const std::vector<LossCause> causes = by_size(step.loss);
    Duration largest;
    for (const LossCause cause : causes) largest = std::max(largest, magnitude(step.loss[cause]));
    decimals = decimals_for(in_unit(largest, unit));
    share_decimals = decimals_for(100 * (largest / step.iteration));
    std::vector<double> parts = {in_unit(step.alone(), unit)};
    std::vector<double> points = {100 * (step.alone() / step.iteration)};
    for (const LossCause cause : causes) {
      const double part = in_unit(step.loss[cause], unit);
      if (rounds_to_zero(part, decimals)) continue;
      rows.push_back(cause);
      parts.push_back(part);
      points.push_back(100 * (step.loss[cause] / step.iteration));
    }
    times = adding_up(parts, in_unit(step.iteration, unit), decimals, 1);
    shares = adding_up(points, 100, share_decimals, 1);
  }

  bool none() const { return rows.empty(); }
  /// The wait for the host in one GPU's own step; empty if it is little.
  std::string host_wait(const StepTimes& step) const {
    const Duration wait = step.launch_bound - step.loss[LossCause::launch_bound];
    return wait >= step.iteration.scaled(kLittle) ? shown(wait) : "";
  }
  std::string shown(Duration time) const { return fixed(in_unit(time, unit), decimals); }

  TimeUnit unit;
  int decimals;
  int share_decimals;
  /// Causes that do not round to zero.
  std::vector<LossCause> rows;
  /// One GPU's own step, then a time for each row.
  std::vector<std::string> times;
  /// The entries of `times` as percent of the step.
  std::vector<std::string> shares;
};

}  // namespace

LossWords loss_words(const ReportContext& context, Duration step) {
  return {.of_ddp = speaks_of_buckets(context), .measured = is_measured(context.trust, step)};
}

std::string_view label_of(LossCause cause, LossWords words) {
  if (!words.of_ddp && cause == LossCause::copies) return "copies and casts";
  if (!words.of_ddp && cause == LossCause::hooks) return "waiting for the host";
  if (words.measured && cause == LossCause::unexplained) return "unexplained";
  return kLabels[static_cast<std::size_t>(cause)];
}

std::optional<LossCause> largest_loss(const Loss& loss) {
  for (const LossCause cause : by_size(loss))
    if (cause != LossCause::unexplained)
      return loss[cause] > Duration() ? std::optional(cause) : std::nullopt;
  return std::nullopt;
}

std::string blocking_text(const StepTimes& times) {
  // A single GPU has nothing to reduce: DDP only copies its buffers.
  const bool communicates =
      times.overlap ||
      times.exposed_communication + times.sync_batchnorm + times.model_averaging > Duration();
  if (communicates && times.blocking_communication() > Duration())
    return percent_text(100 * (times.blocking_communication() / times.iteration)) +
           " of it blocked by communication";
  return communicates ? "all communication hidden" : "no communication";
}

std::string loss_text(const StepTimes& times, LossCause cause) {
  const Losses losses(times);
  const auto row = std::ranges::find(losses.rows, cause);
  const auto at = static_cast<std::size_t>(row - losses.rows.begin());
  return fmt::format(
      "{} {}", row == losses.rows.end() ? losses.shown(times.loss[cause]) : losses.times[at + 1],
      name_of(losses.unit));
}

std::string loss_table(const StepTimes& times, const Confidence& confidence,
                       const TerminalStyle& style, LossWords words) {
  const Losses losses(times);
  if (losses.none()) return "";
  Table table({{"where the efficiency goes"},
               {std::string(name_of(losses.unit)), Align::right},
               {"% of step", Align::right},
               {"80 % interval", Align::left, 1}});
  std::string one = words.of_ddp ? "one GPU, without DDP" : "one GPU by itself";
  if (times.input_alone > Duration()) one += ", batches ready";
  table.add_row({one, losses.times[0], losses.shares[0], ""});
  if (const std::string wait = losses.host_wait(times); !wait.empty())
    table.add_row({"  of this, waiting for the host", "(" + wait + ")", "", ""});
  for (std::size_t i = 0; i < losses.rows.size(); ++i) {
    const LossInterval interval = loss_interval(losses.rows[i], times.loss, confidence);
    // A loss that the user set (--straggler, --jitter) is exact and has no interval.
    table.add_row(
        {std::string(label_of(losses.rows[i], words)), losses.times[i + 1], losses.shares[i + 1],
         interval.low == interval.high
             ? ""
             : fmt::format("{} to {}", losses.shown(interval.low), losses.shown(interval.high))});
  }
  table.add_row({"step", losses.shown(times.iteration), fixed(100, losses.share_decimals), ""});
  return table.text(style);
}

}  // namespace ddpsim
