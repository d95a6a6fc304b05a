// How fast each of several clusters trains.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "chart.hpp"
#include "cluster_family.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/reports/reports.hpp"
#include "figure_words.hpp"
#include "job_words.hpp"
#include "speed_chart.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

class SpeedChart {
 public:
  explicit SpeedChart(const CompareReport& report)
      : report_(report),
        comparison_(report.comparison),
        contexts_(report.contexts),
        in_samples_(std::ranges::all_of(contexts_, [](const ReportContext& context) {
          return step_work(context.job).samples.has_value();
        })) {}

  std::string svg() {
    std::vector<SpeedPoint> points;
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      const double efficiency = comparison_.jobs[i].efficiency();
      const double now = speed(i, comparison_.jobs[i].times.iteration);
      points.push_back({.workload = "",
                        .family = family_of(cluster_name(contexts_[i])),
                        .name = cluster_name(contexts_[i]),
                        .gpus = contexts_[i].job.cluster().ranks(),
                        .speed = now,
                        .interval = interval(i),
                        .ideal = efficiency > 0 ? std::optional(now / efficiency) : std::nullopt,
                        .told = told(i)});
    }
    SpeedCharts drawn =
        speed_charts(points, in_samples_ ? "samples/s" : "batches/s, one per GPU", "cluster");
    const ReportContext& shared = contexts_.front();
    plot::Chart& first = drawn.charts.front();
    first.title = fmt::format("{} on {}", printable(workload_name(shared)),
                              contexts_.size() == 1 ? printable(cluster_name(shared))
                                                    : counted(contexts_.size(), "cluster"));
    // Each job has a speed of its own.
    first.subtitle = setting_text(shared, {.buckets = speaks_of_buckets(shared), .compute = false});
    first.verdict = first_line_of(compare_text(report_, {}));
    first.notes = notes(drawn.notes);
    first.description = description_of(drawn.charts);
    return plot::svg(drawn.charts, drawn.columns);
  }

 private:
  double speed(std::size_t i, Duration step) const {
    const double each =
        in_samples_ ? *step_work(contexts_[i].job).samples : contexts_[i].job.cluster().ranks();
    return step > Duration() ? each / step.seconds() : 0;
  }

  /// 80 % interval of the speed, the cluster by itself.
  std::pair<double, double> interval(std::size_t i) const {
    const ComparedJob& job = comparison_.jobs[i];
    const auto at = [&](double percent) {
      return speed(i, job.times.iteration.scaled(1 + percent / 100));
    };
    return {at(job.confidence.high_percent), at(job.confidence.low_percent)};
  }

  std::string told(std::size_t i) const {
    const ComparedJob& job = comparison_.jobs[i];
    const int digits = digits_of(job.confidence.grade);
    const auto [low, high] = interval(i);
    return fmt::format(
        "{}, {}: {} {} ({}), {} a step, efficiency {}", printable(cluster_name(contexts_[i])),
        counted(static_cast<std::uint64_t>(contexts_[i].job.cluster().ranks()), "GPU"),
        significant(speed(i, job.times.iteration), digits), in_samples_ ? "samples/s" : "batches/s",
        interval_text(low, high, digits), time_text(job.times.iteration, digits),
        percent_text(100 * job.efficiency()));
  }

  std::vector<std::string> notes(const std::vector<std::string>& of_charts) const {
    std::vector<std::string> notes = {fmt::format(
        "Predicted, with {} everywhere.",
        report_.global_batch ? fmt::format("a global batch of {}", *report_.global_batch)
                             : "the same batch per GPU")};
    for (const std::string& note : of_charts) notes.front() += ' ' + note;
    if (contexts_.size() > 1)
      notes.front() +=
          " Clusters share sources of error, so one may certainly train faster although the two "
          "intervals overlap.";
    std::map<std::string, std::vector<std::string>> resting;  // names by provenance
    for (std::size_t i = 0; i < contexts_.size(); ++i)
      resting[comparison_.jobs[i].confidence.provenance].push_back(
          printable(cluster_name(contexts_[i])));
    for (const auto& [provenance, names] : resting)
      notes.push_back(as_note(resting.size() == 1
                                  ? provenance
                                  : fmt::format("{} ({})", provenance, fmt::join(names, ", "))));
    std::map<std::string, std::vector<std::string>> refused;  // names by error
    for (const NotCompared& job : report_.not_compared)
      refused[printable(job.error)].push_back(printable(job.label));
    for (const auto& [error, names] : refused)
      notes.push_back(fmt::format("Not drawn: {}: {}.", fmt::join(names, ", "), error));
    return notes;
  }

  const CompareReport& report_;
  const Comparison& comparison_;
  const std::vector<CandidateContext>& contexts_;
  bool in_samples_;
};

}  // namespace

std::string compare_svg(const CompareReport& report) {
  return SpeedChart(report).svg();
}

}  // namespace ddpsim
