// The search that `tune` and `advise` share, over settings of a job whose step may have been measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "job_report.hpp"
#include "terminal.hpp"
#include "terminal_progress.hpp"

namespace ddpsim {

/// Throws UsageError or InputError if the caps of the job cannot be searched. `ddp` has the options that must be possible. `searches`
/// begins the sentence that refuses a list of caps: "tune searches over single caps".
void require_caps_to_search(const BuiltJob& loaded, const DdpOptions& ddp,
                            const std::string& searches);

class SettingsSearch {
 public:
  /// Replays the measured step, if any. `loaded` must outlive the search.
  SettingsSearch(BuiltJob& loaded, int threads);

  /// Returns the job with its current settings, adjusted to its measured step.
  const Job& current() const { return current_; }
  /// Returns the options of the search, which shows its progress. This object must outlive them.
  TuneOptions options();
  /// Simulates the current step and stores its confidence in the job's trust.
  ReportedStep assess_current();

 private:
  BuiltJob& loaded_;
  const int threads_;
  const Job current_;
  TerminalProgress progress_;
};

/// Returns `report` in every form except the plan of --export. `steps` makes the documents that an HTML
/// report draws first. `report` must outlive the answer.
Answer advice_answer(const AdviceReport& report, std::string command,
                     std::function<std::vector<ReportDocument>()> steps);

}  // namespace ddpsim
