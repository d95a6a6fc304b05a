// Training speed by number of GPUs, a line for each cluster that is compared in several sizes; where none is, the
// candidates in rows, fastest first.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cluster_family.hpp"
#include "ddpsim/reports/reports.hpp"
#include "figure_words.hpp"
#include "plot/chart.hpp"
#include "report_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr int kMostTicks = 7;

/// Indices of jobs that differ in their number of nodes alone, by number of GPUs.
struct Family {
  std::string name;
  std::vector<std::size_t> jobs;
};

class SpeedChart {
 public:
  explicit SpeedChart(const CompareReport& report)
      : report_(report),
        comparison_(report.comparison),
        contexts_(report.contexts),
        in_samples_(std::ranges::all_of(contexts_, [](const ReportContext& context) {
          return context.samples_per_step.has_value();
        })) {
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      const std::string name = family_of(contexts_[i].cluster);
      const auto [found, is_new] = known.emplace(name, families_.size());
      if (is_new) families_.push_back({name, {}});
      families_[found->second].jobs.push_back(i);
    }
    for (Family& family : families_)
      std::ranges::stable_sort(family.jobs, {}, [&](std::size_t i) { return contexts_[i].ranks; });
  }

  plot::Chart chart() {
    ReportContext shared = contexts_.front();
    shared.compute_scale = 1;  // each job has its own
    shared.rank_slowdown = 1;
    chart_.title = fmt::format(
        "{} on {}", printable(shared.workload),
        contexts_.size() == 1 ? printable(shared.cluster) : counted(contexts_.size(), "cluster"));
    chart_.subtitle = setting_text(shared);
    chart_.verdict = first_line_of(compare_text(report_, {}));
    const bool any_line =
        std::ranges::any_of(families_, [&](const Family& family) { return sizes_of(family) > 1; });
    if (any_line)
      draw_lines();
    else
      draw_rows();
    add_notes(any_line);
    chart_.description = description_of(chart_);
    return std::move(chart_);
  }

 private:
  std::size_t sizes_of(const Family& family) const {
    std::set<int> sizes;
    for (const std::size_t i : family.jobs) sizes.insert(contexts_[i].ranks);
    return sizes.size();
  }

  std::string unit() const { return in_samples_ ? "samples/s" : "batches/s, one per GPU"; }

  double speed(std::size_t i, Duration step) const {
    const double each = in_samples_ ? *contexts_[i].samples_per_step : contexts_[i].ranks;
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
        "{}, {}: {} {} ({}), {} a step, efficiency {}", printable(contexts_[i].cluster),
        counted(static_cast<std::uint64_t>(contexts_[i].ranks), "GPU"),
        significant(speed(i, job.times.iteration), digits), in_samples_ ? "samples/s" : "batches/s",
        interval_text(low, high, digits), time_text(job.times.iteration, digits),
        percent_text(100 * job.efficiency()));
  }

  void draw_lines() {
    for (const Family& family : families_) {
      const bool line = sizes_of(family) > 1;
      const std::string& name = line ? family.name : contexts_[family.jobs.front()].cluster;
      plot::Series series{.name = printable(name),
                          .look = {chart_.series.size()},
                          .join = line ? plot::Join::straight : plot::Join::none};
      for (const std::size_t i : family.jobs)
        series.values.push_back({static_cast<double>(contexts_[i].ranks),
                                 speed(i, comparison_.jobs[i].times.iteration), interval(i),
                                 told(i)});
      chart_.series.push_back(std::move(series));
    }
    plot::Extent gpus(plot::ScaleKind::logarithmic);
    for (const ReportContext& context : contexts_) gpus.add(context.ranks);
    // Twice the GPUs, twice the speed is a straight line on either kind of axes; on logarithmic ones small sizes are
    // seen beside large ones.
    constexpr double kMuchLarger = 4;
    const auto [fewest, most] = *gpus.ends();
    const plot::ScaleKind kind =
        most / fewest >= kMuchLarger ? plot::ScaleKind::logarithmic : plot::ScaleKind::linear;
    constexpr double kBeside = 0.04;
    chart_.x = {"GPUs", plot::Scale(kind, gpus).widened(kBeside, kBeside), gpu_ticks(fewest, most)};
    plot::Extent speeds(kind);
    if (kind == plot::ScaleKind::linear) speeds.add(0);
    for (const plot::Series& series : chart_.series)
      for (const plot::Value& value : series.values) {
        speeds.add(value.interval->first);
        speeds.add(value.interval->second);
      }
    const plot::Scale scale = kind == plot::ScaleKind::linear
                                  ? plot::to_round_ends({kind, speeds}, kMostTicks)
                                  : plot::Scale(kind, speeds).widened(kBeside, kBeside);
    chart_.y = {"training speed, " + unit(), scale, plot::ticks_of(scale, kMostTicks)};
  }

  /// The sizes compared, where they are few.
  std::vector<plot::Tick> gpu_ticks(double fewest, double most) const {
    constexpr std::size_t kFew = 6;
    constexpr int kMost = 12;
    const auto label = [](double gpus) { return plot::tick_label(gpus, 0); };
    std::set<int> sizes;
    for (const ReportContext& context : contexts_) sizes.insert(context.ranks);
    if (sizes.size() > kFew) return plot::doubling_ticks(fewest, most, kMost, label);
    std::vector<plot::Tick> ticks;
    for (const int size : sizes) ticks.push_back({static_cast<double>(size), label(size)});
    return ticks;
  }

  void draw_rows() {
    constexpr std::size_t kMostRows = 60;
    const std::vector<std::size_t>& order = comparison_.by_speed;
    const std::size_t rows = std::min(order.size(), kMostRows);
    chart_.rows = true;
    plot::Series series{.join = plot::Join::none, .spread = plot::Spread::bars};
    plot::Extent speeds(plot::ScaleKind::linear);
    speeds.add(0);
    std::vector<plot::Tick> names;
    for (std::size_t k = 0; k < rows; ++k) {
      const std::size_t i = order[k];
      const auto row = static_cast<double>(k);
      series.values.push_back(
          {speed(i, comparison_.jobs[i].times.iteration), row, interval(i), told(i)});
      speeds.add(interval(i).second);
      names.push_back(
          {row, fmt::format("{} ({})", printable(contexts_[i].cluster),
                            counted(static_cast<std::uint64_t>(contexts_[i].ranks), "GPU"))});
    }
    const plot::Scale scale = plot::to_round_ends({plot::ScaleKind::linear, speeds}, kMostTicks);
    chart_.x = {"training speed, " + unit(), scale, plot::ticks_of(scale, kMostTicks)};
    constexpr double kHalfRow = 0.5;
    chart_.y = {"cluster, fastest first",
                {plot::ScaleKind::linear, -kHalfRow, static_cast<double>(rows) - kHalfRow},
                std::move(names)};
    chart_.series.push_back(std::move(series));
    if (rows < order.size())
      chart_.notes.push_back(fmt::format("The {} fastest of {}.", rows, order.size()));
  }

  /// Of candidates that have one grade for several reasons.
  static std::string meaning(Grade grade) {
    Confidence confidence;
    confidence.grade = grade;
    return grade_and_source(confidence);
  }

  void add_notes(bool lines) {
    chart_.notes.push_back(fmt::format(
        "Predicted, {} everywhere. {}: each cluster by itself, meant to hold four times in five. "
        "Clusters share much of what is not known, so one may certainly train faster though the "
        "two overlap.",
        report_.global_batch ? fmt::format("a global batch of {}", *report_.global_batch)
                             : "the same batch per GPU",
        lines ? "Band" : "Bar"));
    std::map<Grade, std::vector<std::string>> graded;
    std::map<Grade, std::set<std::string>> sources;
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      const Confidence& confidence = comparison_.jobs[i].confidence;
      graded[confidence.grade].push_back(printable(contexts_[i].cluster));
      sources[confidence.grade].insert(grade_and_source(confidence));
    }
    for (const auto& [grade, names] : graded) {
      std::string note = sources[grade].size() == 1 ? *sources[grade].begin() : meaning(grade);
      if (graded.size() > 1) {
        note.pop_back();
        note += fmt::format(" ({}).", fmt::join(names, ", "));
      }
      chart_.notes.push_back(std::move(note));
    }
    for (const NotCompared& job : report_.not_compared)
      chart_.notes.push_back(
          fmt::format("Not drawn: {}: {}.", printable(job.label), printable(job.error)));
  }

  const CompareReport& report_;
  const Comparison& comparison_;
  const std::vector<ReportContext>& contexts_;
  bool in_samples_;
  std::vector<Family> families_;
  plot::Chart chart_{.x = {"", {plot::ScaleKind::linear, 0, 1}, {}},
                     .y = {"", {plot::ScaleKind::linear, 0, 1}, {}}};
};

}  // namespace

std::string compare_svg(const CompareReport& report) {
  return plot::svg(SpeedChart(report).chart());
}

}  // namespace ddpsim
