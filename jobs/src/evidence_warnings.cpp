#include "ddpsim/jobs/evidence_warnings.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "ddpsim/diagnose/evidence/evidence.hpp"
#include "ddpsim/formats/files.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLargestEvidence = 64 << 20;

std::vector<std::string> warnings_in(std::string_view text, const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  const Evidence evidence = read_evidence(text, name);
  std::vector<std::string> warnings = evidence.warnings;
  for (const Finding& finding : find_problems(evidence))
    warnings.push_back(fmt::format("{}: {}", finding.place, finding.says));
  return warnings;
}

}  // namespace

std::vector<std::string> warnings_in_workload(const std::string& file) {
  return warnings_in(read_file(file, kLargestEvidence), file);
}

std::vector<std::string> warnings_in_cluster(const std::string& cluster) {
  std::error_code error;
  for (const std::string& name : {cluster, cluster.substr(0, cluster.find(' ')),
                                  cluster.substr(0, cluster.find_last_of('@'))}) {
    if (!std::filesystem::is_regular_file(name, error)) continue;
    const std::string text = read_file(name, kLargestEvidence);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || text[first] == '{' || text[first] == '<') return {};
    return warnings_in(text, name);
  }
  return {};
}

}  // namespace ddpsim
