// Everything `compare` knows of a set of candidates: each workload's comparison and, of several workloads, their mix; costs of
// either.
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

/// A workload that is read, once for whatever it is held against.
struct ReadWorkload {
  WeighedWorkload weighed;
  LoadedWorkload loaded;
};

/// Of --until: of what something is asked.
enum class CandidateFigure { efficiency, samples_per_second, step, usd };

class CompareOutcome {
 public:
  /// Throws InputError or UsageError where a workload runs on no candidate, or all of them together on none. `progress`
  /// hears of candidates, one workload after the other.
  CompareOutcome(const CompareArguments& arguments, const JobRequest& request,
                 const std::vector<ReadWorkload>& workloads, std::vector<Candidate> candidates,
                 GpuSettings& gpus, MeasuredTexts& measured, const ClusterReaders& readers,
                 Progress* progress = nullptr);

  bool several() const { return workloads_.size() > 1; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::vector<WorkloadComparison>& workloads() { return workloads_; }
  /// No candidate has failed.
  bool all_compared() const;
  /// Of the mix, where there are several; absent where nothing has a price.
  const std::optional<Costs>& costs() const {
    return several() ? mix_.costs : workloads_.front().report.costs;
  }
  /// After all else is in the workloads' reports: what the mix tells of them, moved there.
  MixReport mix_report(const std::vector<ReadWorkload>& read);

  /// Absent where it is not known. A mix has only a cost, whatever the workload.
  std::optional<FigureRange> figure(CandidateFigure figure, std::size_t workload,
                                    std::size_t candidate) const;
  /// In its workload's rows, or in the mix's; absent where it has none there.
  std::optional<std::size_t> row(std::size_t workload, std::size_t candidate, bool of_mix) const;
  /// Whether one candidate is faster, or cheaper, than another; absent where one of them has no figures.
  std::optional<Holds> is_ahead(std::size_t candidate, std::size_t other, bool in_cost) const;
  /// Searches the best cap of each workload on those that may be the fastest.
  void search_caps(int threads, Progress* progress = nullptr);

 private:
  void mix_all(const std::vector<ReadWorkload>& read);
  /// Of --nnodes: a run on each candidate, of its nodes.
  void simulate_runs(const CompareArguments& arguments, const ReadWorkload& read);
  void count_costs(const CompareArguments& arguments);
  std::vector<TimedWork> works() const;

  std::vector<Candidate> candidates_;
  std::vector<WorkloadComparison> workloads_;
  MixReport mix_;
  std::vector<std::size_t> mixed_;  ///< by candidate of the mix, which of all it is
};

}  // namespace ddpsim
