#include "sweep_anchors.hpp"

#include <algorithm>

#include "ddpsim/jobs/measured_step.hpp"
#include "ddpsim/sim/compare/compare.hpp"

namespace ddpsim {

KnownStep anchored_step(const Job& job, std::size_t candidate, bool alike,
                        const std::vector<Anchor>& anchors) {
  const auto itself = std::ranges::find_if(anchors, [&](const Anchor& anchor) {
    return alike && anchor.candidate == candidate && partition_of(anchor.job) == partition_of(job);
  });
  std::vector<Job> jobs;
  CompareOptions options{.threads = 1};
  for (const Anchor& anchor : anchors) {
    jobs.push_back(anchor.job);
    options.measured.emplace_back(anchor.measured);
  }
  const auto own = static_cast<std::size_t>(itself - anchors.begin());
  if (itself == anchors.end()) jobs.push_back(job);
  const Comparison comparison = compare(jobs, options);
  const ComparedJob& compared = comparison.jobs[own];
  KnownStep step{.times = compared.times, .confidence = compared.confidence};
  if (compared.corrected_by) step.corrected_by = anchors[*compared.corrected_by].label;
  if (compared.correction) step.corrected_by = itself->label;
  if (compared.replay && compared.replay->contradicted())
    step.contradiction = contradiction(*compared.replay);
  return step;
}

}  // namespace ddpsim
