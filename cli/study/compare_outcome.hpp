// The results of `compare` for a set of candidates: the comparison of each workload, the mix of several workloads, and their costs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/reports/mix_report.hpp"
#include "ddpsim/sim/compare/tipping.hpp"
#include "ddpsim/sim/values/progress.hpp"
#include "weighed_workloads.hpp"
#include "workload_comparison.hpp"

namespace ddpsim {

/// A workload, read once for all candidates.
struct ReadWorkload {
  WeighedWorkload weighed;
  LoadedWorkload loaded;
};

/// The figure that a condition of --until is about.
enum class CandidateFigure { efficiency, samples_per_second, step, usd };

class CompareOutcome {
 public:
  /// Compares the workloads one after the other and reports finished candidates to `progress`. Throws InputError or UsageError if a
  /// workload runs on no candidate, or if no candidate runs all workloads.
  CompareOutcome(const CompareArguments& arguments, const JobRequest& request,
                 const std::vector<ReadWorkload>& workloads, std::vector<Candidate> candidates,
                 GpuSettings& gpus, MeasuredTexts& measured, const ClusterReaders& readers,
                 Progress* progress = nullptr);

  bool several() const { return workloads_.size() > 1; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::vector<WorkloadComparison>& workloads() { return workloads_; }
  /// Returns whether no candidate failed.
  bool all_compared() const;
  /// Returns the costs of the only workload or of the mix; nothing if no candidate has a price.
  const std::optional<Costs>& costs() const {
    return several() ? mix_.costs : workloads_.front().report.costs;
  }
  /// Returns the report of the mix and moves the reports of the workloads into it. Call it last.
  MixReport mix_report(const std::vector<ReadWorkload>& read);

  /// Returns a figure of a candidate, if known. A mix only has costs, whatever the workload.
  std::optional<FigureRange> figure(CandidateFigure figure, std::size_t workload,
                                    std::size_t candidate) const;
  /// Returns the row of a candidate in the table of its workload or of the mix, if any.
  std::optional<std::size_t> row(std::size_t workload, std::size_t candidate, bool of_mix) const;
  /// Returns whether a candidate is faster or cheaper than another; nothing if one of them has no figures.
  std::optional<Holds> is_ahead(std::size_t candidate, std::size_t other, bool in_cost) const;
  /// Searches for the best cap of each workload on the candidates that could be the fastest.
  void search_caps(int threads, Progress* progress = nullptr);

 private:
  void mix_all(const std::vector<ReadWorkload>& read);
  /// With --nnodes, simulates a run on each candidate.
  void simulate_runs(const CompareArguments& arguments, const ReadWorkload& read);
  void count_costs(const CompareArguments& arguments);
  std::vector<TimedWork> works() const;

  std::vector<Candidate> candidates_;
  std::vector<WorkloadComparison> workloads_;
  MixReport mix_;
  /// By candidate of the mix, its index among all candidates.
  std::vector<std::size_t> mixed_;
};

}  // namespace ddpsim
