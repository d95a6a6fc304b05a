// What `tune` and `advise` do alike: they search the settings of a job whose step may have been measured.
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

/// Refuses jobs whose caps cannot be searched. `ddp`: the options that must be possible. `searches` begins the sentence that
/// refuses a list of caps: "tune searches over single caps". Throws UsageError and InputError.
void require_caps_to_search(const BuiltJob& loaded, const DdpOptions& ddp,
                            const std::string& searches);

class SettingsSearch {
 public:
  /// Replays the measured step, where there is one. `loaded` must outlive the search.
  SettingsSearch(BuiltJob& loaded, int threads);

  /// The job as it runs today: adjusted to its measured step.
  const Job& current() const { return current_; }
  /// How to search, its progress shown; the search must outlive it.
  TuneOptions options();
  /// Simulates the current step, and says in the job's trust how sure it is.
  ReportedStep assess_current();

 private:
  BuiltJob& loaded_;
  const int threads_;
  const Job current_;
  TerminalProgress progress_;
};

/// Advice in each of its forms but for what --export writes. `steps`: what a report draws in front of it. `report` must outlive
/// the answer.
Answer advice_answer(const AdviceReport& report, std::string command,
                     std::function<std::vector<ReportDocument>()> steps);

}  // namespace ddpsim
