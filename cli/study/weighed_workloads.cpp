#include "weighed_workloads.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {
namespace {

struct Typed {
  std::string text;
  std::optional<double> share;
  bool percent = false;
};

[[noreturn]] void refuse(const std::string& problem) {
  throw UsageError("--workload " + problem);
}

Typed with_share(const std::string& workload, std::string_view share) {
  const bool percent = share.ends_with('%');
  const auto number = parse_number<double>(share.substr(0, share.size() - (percent ? 1 : 0)));
  constexpr double kMost = 1e9;
  if (workload.empty() || !number)
    refuse(fmt::format("{}={}: expected W or W=SHARE, such as resnet50-v100-b32=70% or =2",
                       workload, share));
  if (!(*number > 0 && *number <= kMost))
    refuse(fmt::format("{}={}: a share must be above 0; leave out workloads that are not trained",
                       workload, share));
  return {workload, *number, percent};
}

/// Parses "W=70%", "W=2" or "W". The name of a file may contain "=".
Typed typed_workload(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  std::error_code error;
  if (equals == text.npos || std::filesystem::exists(text, error)) return {text, {}};
  return with_share(text.substr(0, equals), std::string_view(text).substr(equals + 1));
}

/// Returns the workloads of the study, then the typed ones.
std::vector<Typed> named_workloads(const CompareArguments& arguments) {
  std::vector<Typed> named;
  if (arguments.study)
    for (const StudyWorkload& one : arguments.study->study.workloads)
      named.push_back(one.share.empty() ? Typed{one.workload, {}}
                                        : with_share(one.workload, one.share));
  for (const std::string& text : arguments.workloads) named.push_back(typed_workload(text));
  return named;
}

/// Throws UsageError unless all workloads or none have a share. Percentages must add up to 100.
void require_alike(const std::vector<Typed>& typed) {
  double sum = 0;
  for (const Typed& one : typed) {
    if (one.share.has_value() != typed.front().share.has_value())
      refuse(fmt::format("{}: give every workload a share, or none",
                         (one.share ? typed.front() : one).text));
    if (one.percent != typed.front().percent)
      refuse(fmt::format("{}: give all shares in percent, or none of them", one.text));
    sum += one.share.value_or(1);
  }
  constexpr double kRounded = 0.5;  // for three times 33.3 %
  if (typed.front().percent && std::abs(sum - 100) > kRounded)
    refuse(fmt::format("{}=…: the shares add up to {:.4g} % instead of 100 %", typed.front().text,
                       sum));
}

}  // namespace

std::vector<WeighedWorkload> weighed_workloads(const CompareArguments& arguments,
                                               std::vector<CandidateRequest>& clusters) {
  const std::vector<Typed> typed = named_workloads(arguments);
  const std::string& first = arguments.job.workload;
  if (typed.empty() && first.empty()) throw UsageError("WORKLOAD is required");
  if (arguments.study) clusters = arguments.study->study.candidates;
  if (!typed.empty() && !first.empty()) {
    const bool study_names = arguments.workloads.empty();
    if (is_workload(first) && !is_cluster(first))
      throw UsageError(
          "",
          study_names
              ? Complaint{in_quotes(first) + " is a workload, but the study also names one",
                          "Leave one of them out"}
              : Complaint{in_quotes(first) + " is a workload, but --workload must name all of them",
                          fmt::format("Add --workload {}, or leave out --workload", first)});
    clusters.push_back(typed_candidate(first));
  }
  for (const std::string& text : arguments.clusters) clusters.push_back(typed_candidate(text));
  if (clusters.empty()) throw UsageError("CLUSTER is required");
  if (typed.empty()) return {{first, 1}};
  std::set<std::string> names;
  for (const Typed& one : typed)
    if (!names.insert(one.text).second) refuse(fmt::format("{}: given twice", one.text));
  require_alike(typed);
  double sum = 0;
  for (const Typed& one : typed) sum += one.share.value_or(1);
  std::vector<WeighedWorkload> workloads;
  for (const Typed& one : typed) workloads.push_back({one.text, one.share.value_or(1) / sum});
  return workloads;
}

}  // namespace ddpsim
