#include "candidates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/topologies/cluster_ranges.hpp"

namespace ddpsim {
namespace {

/// Returns the label before "=", if any.
std::string_view given_label(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) return {};
  // The text looks like an option, so errors show all of it.
  if (text.starts_with('-')) return {};
  const std::string_view label = std::string_view(text).substr(0, equals);
  std::error_code error;
  const bool in_a_name =
      label.find_first_of(":/@{}") != label.npos || std::filesystem::exists(text, error);
  return in_a_name ? std::string_view() : label;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool is_line(const Candidate& candidate) {
  return !candidate.given && candidate.cluster.find(' ') != std::string::npos;
}

/// Names each of several one-line clusters after the words that not all of them have. A single one keeps its label.
void name_lines_apart(std::vector<Candidate>& candidates) {
  std::map<std::string, std::size_t> lines_with;
  std::size_t lines = 0;
  for (const Candidate& candidate : candidates) {
    if (!is_line(candidate)) continue;
    ++lines;
    const std::vector<std::string> words = words_of(candidate.cluster);
    for (const std::string& word : std::set<std::string>(words.begin(), words.end()))
      ++lines_with[word];
  }
  for (Candidate& candidate : candidates) {
    if (!is_line(candidate)) continue;
    std::vector<std::string> own = words_of(candidate.cluster);
    std::erase_if(own, [&](const std::string& word) { return lines_with[word] == lines; });
    if (!own.empty()) candidate.label = fmt::format("{}", fmt::join(own, " "));
  }
}

void require_own_labels(const std::vector<Candidate>& candidates) {
  std::map<std::string, const Candidate*> labelled;
  for (const Candidate& candidate : candidates) {
    const auto [first, is_new] = labelled.emplace(candidate.label, &candidate);
    if (!is_new && (candidate.given || first->second->given))
      throw UsageError(candidate.label, "two candidates have this label",
                       "Give each candidate its own label");
  }
}

std::vector<Candidate> under_schemes(const std::vector<Candidate>& clusters,
                                     const std::vector<std::string>& schemes) {
  const std::set<std::string> different(schemes.begin(), schemes.end());
  if (different.size() < schemes.size())
    throw UsageError("--scheme", "the same scheme is given twice");
  std::vector<Candidate> all;
  for (const Candidate& cluster : clusters)
    for (const std::string& scheme : schemes) {
      Candidate& candidate = all.emplace_back(cluster);
      candidate.scheme = scheme;
      candidate.label = clusters.size() == 1 ? scheme : fmt::format("{} {}", cluster.label, scheme);
    }
  return all;
}

}  // namespace

bool Candidate::is_called(std::string_view name) const {
  return name == label || name == cluster || name == given;
}

CandidateRequest typed_candidate(const std::string& text) {
  const std::string_view label = given_label(text);
  if (label.empty()) return {.cluster = text};
  return {.cluster = text.substr(label.size() + 1), .label = std::string(label)};
}

std::vector<Candidate> candidates(const std::vector<CandidateRequest>& requests,
                                  const std::vector<std::string>& schemes) {
  std::vector<Candidate> all;
  for (std::size_t k = 0; k < requests.size(); ++k) {
    const CandidateRequest& request = requests[k];
    for (ClusterOfRange& one : cluster_ranges(request.cluster)) {
      const std::string label = request.label ? *request.label + one.varied : one.text;
      all.push_back({.cluster = std::move(one.text),
                     .label = label,
                     .given = request.label,
                     .request = k,
                     .price = request.price,
                     .measured_step = request.measured_step});
    }
  }
  name_lines_apart(all);
  if (schemes.size() > 1) all = under_schemes(all, schemes);
  require_own_labels(all);
  return all;
}

}  // namespace ddpsim
