// Says why a long run is not simulated: rules that no rendezvous could meet, runs that would take
// too long, or overflow.
#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/sim/values/limits.hpp"
#include "elastic_runs.hpp"

namespace ddpsim {
namespace {

// A run may be longer than its length by a few of these.
constexpr double kLongestWait = 10 * kYear;

}  // namespace

std::string why_not_elastic(const ElasticOptions& options) {
  if (options.last_call_timeout >= options.join_timeout)
    return "last_call_timeout must be less than join_timeout. Otherwise no round of fewer than MAX "
           "nodes would be complete";
  if (in_seconds(options.keep_alive_interval) * options.keep_alive_max_attempt > kLongestWait)
    return fmt::format("keep_alive_interval x keep_alive_max_attempt is longer than {:.0f} years",
                       kLongestWait / kYear);
  return "";
}

std::string why_not_elastic(const ElasticQuestion& question) {
  const ElasticOptions& options = question.options;
  const RunTime length = length_of(question);
  const double seconds = in_seconds(length);
  if (length <= RunTime())
    return fmt::format("a node fails every {:.3g} s, so a run of {:.0f} failures takes no time",
                       question.node_mtbf_seconds, kFailuresDue);
  const double failures = question.seeds * seconds * options.max_nodes / question.node_mtbf_seconds;
  if (failures > kMostRunFailures)
    return fmt::format(
        "{} runs of {:.4g} s on {} nodes, each failing every {:.4g} s, have {:.4g} failures, and "
        "the limit is {:.0f}; lower length or seeds",
        question.seeds, seconds, options.max_nodes, question.node_mtbf_seconds, failures,
        kMostRunFailures);
  const double job = in_seconds(options.join_timeout + options.resubmit);
  const double longest = std::max(seconds, kYear);  // single failures run for a year
  if (longest / job > kMostResubmissions)
    return fmt::format(
        "a job that finds too few nodes ends after {:.4g} s (join_timeout and resubmit). A run "
        "could have {:.4g} of them, and the limit is {:.0f}; raise join_timeout or resubmit, or "
        "lower length",
        job, longest / job, kMostResubmissions);
  // Training is counted at the speed of MAX nodes, in 63 bits of nanoseconds.
  for (std::size_t k = 0; k < question.steps.size(); ++k) {
    const double nodes = options.min_nodes + static_cast<double>(k);
    const double speed = nodes / options.max_nodes * (question.steps.back() / question.steps[k]);
    constexpr double kMostCounted = 250 * kYear;
    if (seconds * speed > kMostCounted)
      return fmt::format(
          "{:.0f} nodes train {:.3g} times as fast as {}, too fast for a run of {:.3g} years; "
          "lower length",
          nodes, speed, options.max_nodes, seconds / kYear);
  }
  return "";
}

}  // namespace ddpsim
