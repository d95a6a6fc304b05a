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

  plot::Chart chart() {
    const ReportContext& shared = contexts_.front();
    chart_.title = fmt::format("{} on {}", printable(workload_name(shared)),
                               contexts_.size() == 1 ? printable(cluster_name(shared))
                                                     : counted(contexts_.size(), "cluster"));
    // Each job has a speed of its own.
    chart_.subtitle =
        setting_text(shared, {.buckets = speaks_of_buckets(shared), .compute = false});
    chart_.verdict = first_line_of(compare_text(report_, {}));
    std::vector<SpeedPoint> points;
    for (std::size_t i = 0; i < contexts_.size(); ++i)
      points.push_back({.family = family_of(cluster_name(contexts_[i])),
                        .name = cluster_name(contexts_[i]),
                        .gpus = contexts_[i].job.cluster().ranks(),
                        .speed = speed(i, comparison_.jobs[i].times.iteration),
                        .interval = interval(i),
                        .told = told(i)});
    draw_speeds(chart_, points, in_samples_ ? "samples/s" : "batches/s, one per GPU", "cluster");
    add_notes(in_several_sizes(points));
    chart_.description = description_of(chart_);
    return std::move(chart_);
  }

 private:
  double speed(std::size_t i, Duration step) const {
    const double each =
        in_samples_ ? *step_work(contexts_[i].job).samples : contexts_[i].job.cluster().ranks();
    return step > Duration() ? each / step.seconds() : 0;
  }

  /// Where four in five measured speeds would lie, the cluster by itself.
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

  void add_notes(bool lines) {
    chart_.notes.push_back(fmt::format(
        "Predicted, {} everywhere. {}: 80 % interval of each cluster by itself. "
        "Clusters share much of what is not known, so one may certainly train faster though the "
        "two overlap.",
        report_.global_batch ? fmt::format("a global batch of {}", *report_.global_batch)
                             : "the same batch per GPU",
        lines ? "Band" : "Bar"));
    std::map<std::string, std::vector<std::string>> resting;  // names by what they rest on
    for (std::size_t i = 0; i < contexts_.size(); ++i)
      resting[comparison_.jobs[i].confidence.provenance].push_back(
          printable(cluster_name(contexts_[i])));
    for (const auto& [provenance, names] : resting)
      chart_.notes.push_back(as_note(
          resting.size() == 1 ? provenance
                              : fmt::format("{} ({})", provenance, fmt::join(names, ", "))));
    for (const NotCompared& job : report_.not_compared)
      chart_.notes.push_back(
          fmt::format("Not drawn: {}: {}.", printable(job.label), printable(job.error)));
  }

  const CompareReport& report_;
  const Comparison& comparison_;
  const std::vector<CandidateContext>& contexts_;
  bool in_samples_;
  plot::Chart chart_{.x = {"", {plot::ScaleKind::linear, 0, 1}, {}},
                     .y = {"", {plot::ScaleKind::linear, 0, 1}, {}}};
};

}  // namespace

std::string compare_svg(const CompareReport& report) {
  return plot::svg(SpeedChart(report).chart());
}

}  // namespace ddpsim
