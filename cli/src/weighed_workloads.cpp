#include "weighed_workloads.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "usage_error.hpp"

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

/// "W=70%", "W=2", "W". A name may hold "=": a file's.
Typed typed_workload(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  std::error_code error;
  if (equals == text.npos || std::filesystem::exists(text, error)) return {text, {}};
  std::string_view share = std::string_view(text).substr(equals + 1);
  const bool percent = share.ends_with('%');
  if (percent) share.remove_suffix(1);
  const auto number = parse_number<double>(share);
  constexpr double kMost = 1e9;
  if (equals == 0 || !number)
    refuse(fmt::format("{}: expected W or W=SHARE, such as resnet50-v100-b32=70% or =2", text));
  if (!(*number > 0 && *number <= kMost))
    refuse(fmt::format("{}: a share is above 0; leave out what nobody trains", text));
  return {text.substr(0, equals), *number, percent};
}

/// All with a share, or none; percent of all or of none, and then 100 together.
void require_alike(const std::vector<Typed>& typed) {
  double sum = 0;
  for (const Typed& one : typed) {
    if (one.share.has_value() != typed.front().share.has_value())
      refuse(fmt::format("{}: give a share to each of them, or to none",
                         (one.share ? typed.front() : one).text));
    if (one.percent != typed.front().percent)
      refuse(fmt::format("{}: give all shares in percent, or none", one.text));
    sum += one.share.value_or(1);
  }
  constexpr double kRounded = 0.5;  // 33.3 % three times
  if (typed.front().percent && std::abs(sum - 100) > kRounded)
    refuse(
        fmt::format("{}=…: the shares add up to {:.4g} %, not to 100 %", typed.front().text, sum));
}

}  // namespace

std::vector<WeighedWorkload> weighed_workloads(const CompareArguments& arguments,
                                               std::vector<std::string>& clusters) {
  clusters = arguments.clusters;
  const std::string& first = arguments.job.workload;
  if (arguments.workloads.empty()) {
    if (first.empty()) throw UsageError("WORKLOAD is required");
    if (clusters.empty()) throw UsageError("CLUSTER is required");
    return {{first, 1}};
  }
  if (first.empty()) throw UsageError("CLUSTER is required");
  if (is_workload(first) && !is_cluster(first))
    throw UsageError(
        fmt::format("{} is a workload, and --workload names them all: add --workload {}, or leave "
                    "--workload out",
                    in_quotes(first), first));
  clusters.insert(clusters.begin(), first);
  std::vector<Typed> typed;
  std::set<std::string> names;
  for (const std::string& text : arguments.workloads) {
    typed.push_back(typed_workload(text));
    if (!names.insert(typed.back().text).second)
      refuse(fmt::format("{}: given twice", typed.back().text));
  }
  require_alike(typed);
  double sum = 0;
  for (const Typed& one : typed) sum += one.share.value_or(1);
  std::vector<WeighedWorkload> workloads;
  for (const Typed& one : typed) workloads.push_back({one.text, one.share.value_or(1) / sum});
  return workloads;
}

}  // namespace ddpsim
