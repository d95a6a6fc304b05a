// A row for each candidate. With several workloads, a row for each workload and candidate, then the
// rows of the mix.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/reports/mix_report.hpp"
#include "ddpsim/sim/ddp/scheme_notes.hpp"
#include "error_source.hpp"
#include "job_words.hpp"
#include "loss_lines.hpp"

namespace ddpsim {
namespace {

/// Columns of every table, in order.
constexpr std::array kOfEach = {"workload",
                                "label",
                                "cluster",
                                "ranks",
                                "compute_scale",
                                "iteration_us",
                                "low_us",
                                "high_us",
                                "alone_us",
                                "scaling_efficiency",
                                "samples_per_second",
                                "tokens_per_second",
                                "model_flops_utilization",
                                "exposed_communication_us",
                                "blocking_communication_us",
                                "largest_loss",
                                "grade",
                                "changed_numerics",
                                "best_cap_mb",
                                "gain_us",
                                "behind_percent",
                                "behind_low_percent",
                                "behind_high_percent",
                                "usd_per_hour",
                                "usd_per_1000_steps",
                                "usd_per_1000_steps_low",
                                "usd_per_1000_steps_high",
                                "dearer_percent",
                                "dearer_low_percent",
                                "dearer_high_percent",
                                "frontier",
                                "memory_bytes"};
/// Columns that only the rows of a mix fill.
constexpr std::array kOfMix = {"time",
                               "time_low",
                               "time_high",
                               "usd_per_hour_of_reference",
                               "usd_per_hour_of_reference_low",
                               "usd_per_hour_of_reference_high"};
constexpr const char* kMix = "mix";

/// An error source and, if each workload has its own, the index of the workload.
using SourceKey = std::pair<ErrorSource, std::optional<std::size_t>>;

class CandidateTable {
 public:
  /// `workloads` are the names of several workloads; empty for a single one.
  explicit CandidateTable(std::vector<std::string> workloads) : workloads_(std::move(workloads)) {}

  void add(const std::string& workload, const CompareReport& report) {
    for (std::size_t i = 0; i < report.comparison.jobs.size(); ++i) add_job(workload, report, i);
    for (const NotCompared& job : report.not_compared) add_not_compared(workload, job);
  }

  void add(const MixReport& report) {
    for (std::size_t i = 0; i < report.mix.candidates.size(); ++i) {
      const MixedCandidate& candidate = report.mix.candidates[i];
      const MixLabel& label = report.labels[i];
      Row& row = new_row(kMix, label.label, label.cluster_text);
      row["ranks"] = std::to_string(label.ranks);
      row["grade"] = name_of(label.grade);
      row["changed_numerics"] = label.changed_numerics;
      add_range(row, "time", candidate.time);
      add_speedup(row, candidate.behind);
      if (!report.costs || !report.costs->candidates[i]) continue;
      const CandidateCost& cost = *report.costs->candidates[i];
      add_cost(row, cost);
      constexpr double kHour = 3600;
      add_range(row, "usd_per_hour_of_reference", cost.usd_per_work.times(kHour));
    }
    for (const NotCompared& job : report.not_compared) add_not_compared(kMix, job);
  }

  std::string csv() const {
    std::vector<std::string> keys(kOfEach.begin(), kOfEach.end());
    if (!workloads_.empty()) keys.insert(keys.end(), kOfMix.begin(), kOfMix.end());
    keys.push_back("changes_order");
    for (const SourceKey& source : sources_)
      for (const char* bound : {"_low_percent", "_high_percent"})
        keys.push_back("behind_" + name_of_source(source) + bound);
    keys.push_back("error");
    std::string csv = csv_row(keys);
    for (const Row& row : rows_) {
      std::vector<std::string> cells;
      for (const std::string& key : keys) {
        const auto cell = row.find(key);
        cells.push_back(cell == row.end() ? "" : cell->second);
      }
      csv += csv_row(cells);
    }
    return csv;
  }

 private:
  /// Cells by column. Cells that are absent are printed empty.
  using Row = std::map<std::string, std::string>;

  Row& new_row(const std::string& workload, const std::string& label, const std::string& cluster) {
    rows_.push_back({{"workload", workload}, {"label", label}, {"cluster", cluster}});
    return rows_.back();
  }

  void add_job(const std::string& workload, const CompareReport& report, std::size_t i) {
    const ComparedJob& job = report.comparison.jobs[i];
    const CandidateContext& context = report.contexts[i];
    const Duration step = job.times.iteration;
    const auto bound = [&](double percent) {
      return microseconds_token(step.scaled(1 + percent / 100));
    };
    Row& row = new_row(workload, cluster_name(context), context.provenance.cluster_source);
    row["ranks"] = std::to_string(context.job.cluster().ranks());
    row["compute_scale"] = number_token(context.job.options().compute_scale);
    row["iteration_us"] = microseconds_token(step);
    row["low_us"] = bound(job.confidence.low_percent);
    row["high_us"] = bound(job.confidence.high_percent);
    row["alone_us"] = microseconds_token(job.times.alone());
    const TrainingSpeed speed = training_speed(step_work(context.job), job.times);
    const auto add_known = [&](const char* column, std::optional<double> value) {
      if (value) row[column] = ratio_token(*value);
    };
    add_known("samples_per_second", speed.samples_per_second);
    add_known("tokens_per_second", speed.tokens_per_second);
    add_known("model_flops_utilization", speed.model_flops_utilization);
    add_known("scaling_efficiency", speed.scaling_efficiency);
    row["exposed_communication_us"] = microseconds_token(job.times.exposed_communication);
    row["blocking_communication_us"] = microseconds_token(job.times.blocking_communication());
    if (const auto cause = largest_loss(job.times.loss)) row["largest_loss"] = name_of(*cause);
    row["grade"] = name_of(job.confidence.grade);
    row["changed_numerics"] = changed_numerics(context.job);
    if (job.best_cap && job.best_cap->set) {
      if (const auto cap = job.best_cap->bucket_cap_mb) row["best_cap_mb"] = number_token(*cap);
      row["gain_us"] = microseconds_token(job.best_cap->gain.value);
    }
    add_speedup(row, job.behind);
    row["memory_bytes"] = bytes_of(context.memory);
    if (!report.costs || !report.costs->candidates[i]) return;
    const CandidateCost& cost = *report.costs->candidates[i];
    add_cost(row, cost);
    constexpr double kThousand = 1000;
    add_range(row, "usd_per_1000_steps",
              cost.usd_per_work.times(kThousand * step.seconds() / job.work->expected));
  }

  void add_not_compared(const std::string& workload, const NotCompared& job) {
    Row& row = new_row(workload, job.label, job.cluster_text);
    if (job.ranks) row["ranks"] = std::to_string(*job.ranks);
    row["memory_bytes"] = bytes_of(job.memory);
    row["error"] = job.error;
  }

  static void add_range(Row& row, const std::string& key, const FigureRange& range) {
    row[key] = number_token(range.value);
    row[key + "_low"] = number_token(range.low);
    row[key + "_high"] = number_token(range.high);
  }

  void add_speedup(Row& row, const Speedup& speedup) {
    row["behind_percent"] = ratio_token(speedup.percent);
    row["behind_low_percent"] = ratio_token(speedup.low_percent);
    row["behind_high_percent"] = ratio_token(speedup.high_percent);
    std::vector<std::string> turning;
    for (const SpeedupSource& source : speedup.sources) {
      const SourceKey key{source.source, source.workload};
      sources_.insert(key);
      const std::string name = "behind_" + name_of_source(key);
      row[name + "_low_percent"] = ratio_token(source.low_percent);
      row[name + "_high_percent"] = ratio_token(source.high_percent);
      if (source.changes_order()) turning.push_back(name_of_source(key));
    }
    row["changes_order"] = fmt::format("{}", fmt::join(turning, " "));
  }

  static void add_cost(Row& row, const CandidateCost& cost) {
    row["usd_per_hour"] = number_token(cost.usd_per_hour);
    row["dearer_percent"] = ratio_token(cost.dearer.percent);
    row["dearer_low_percent"] = ratio_token(cost.dearer.low_percent);
    row["dearer_high_percent"] = ratio_token(cost.dearer.high_percent);
    row["frontier"] = cost.frontier ? "true" : "false";
  }

  /// Empty if the memory is not known.
  static std::string bytes_of(const std::optional<PeakMemory>& memory) {
    return memory && memory->activations ? std::to_string(memory->total().count()) : "";
  }

  std::string name_of_source(const SourceKey& key) const {
    const std::string name(name_of(key.first));
    return key.second ? name + ':' + workloads_[*key.second] : name;
  }

  std::vector<std::string> workloads_;
  std::vector<Row> rows_;
  std::set<SourceKey> sources_;
};

}  // namespace

std::string compare_csv(const CompareReport& report) {
  CandidateTable table({});
  table.add(workload_name(report.contexts.front()), report);
  return table.csv();
}

std::string mix_csv(const MixReport& report) {
  std::vector<std::string> names;
  for (const MixedWorkload& workload : report.workloads) names.push_back(workload.name);
  CandidateTable table(names);
  for (const MixedWorkload& workload : report.workloads) table.add(workload.name, workload.report);
  table.add(report);
  return table.csv();
}

}  // namespace ddpsim
