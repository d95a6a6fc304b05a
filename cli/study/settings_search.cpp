#include "settings_search.hpp"

#include <optional>
#include <utility>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/replay.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

namespace ddpsim {

void require_caps_to_search(const BuiltJob& loaded, const DdpOptions& ddp,
                            const std::string& searches) {
  require_supported(ddp, loaded.job.options().torch);
  if (!ddp.bucket_cap_mb_list.empty())
    throw UsageError("--bucket-cap-mb-list", searches + "; use `ddpsim simulate` for a list");
  require_simulatable(loaded);
  require_searchable(loaded, "`ddpsim simulate --bucket-cap-mb` simulates one cap");
}

SettingsSearch::SettingsSearch(BuiltJob& loaded, int threads)
    : loaded_(loaded),
      threads_(threads),
      current_(replay_current(loaded, loaded.job)),
      progress_("settings", TerminalProgress::Interrupt::ends) {}

TuneOptions SettingsSearch::options() {
  TuneOptions options;
  options.threads = threads_;
  options.replay = loaded_.trust.replay;
  options.progress = &progress_;
  return options;
}

ReportedStep SettingsSearch::assess_current() {
  Trust& trust = loaded_.trust;
  const StepTimes times = simulate_times(current_);
  trust.confidence = assess(current_, times, trust.replay, std::nullopt, threads_);
  return reported_step(current_, times);
}

Answer advice_answer(const AdviceReport& report, std::string command,
                     std::function<std::vector<ReportDocument>()> steps) {
  return {.json = [&report] { return advice_json(report); },
          .text = [&report](const TerminalStyle& style) { return advice_text(report, style); },
          .csv = [&report] { return advice_csv(report.advice); },
          .command = std::move(command),
          .documents =
              [&report, steps = std::move(steps)] {
                std::vector<ReportDocument> all = steps();
                all.push_back({"advice", advice_json(report)});
                return all;
              }};
}

}  // namespace ddpsim
