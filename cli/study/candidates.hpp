// The candidates that a command compares: clusters or ranges of clusters, with labels, each under every requested scheme. Every
// candidate has its own name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// A cluster or a range of clusters to compare, with its own options. Only `cluster` is parsed further.
struct CandidateRequest {
  std::string cluster;
  std::optional<std::string> label{};          ///< any text, also empty
  std::optional<std::string> price{};          ///< "31.2/node_hour"
  std::optional<std::string> measured_step{};  ///< "104ms", or FILE
};

/// Splits "LABEL=CLUSTER" as a user types it. Its label contains none of ":/@{}" and does not begin with "-".
CandidateRequest typed_candidate(const std::string& text);

struct Candidate {
  /// One cluster, as every other command takes it.
  std::string cluster;
  /// The name in reports: the label given, or the words that differ from other candidates.
  std::string label;
  /// The label that was typed, which all clusters of a range share.
  std::optional<std::string> given{};
  /// Index of the request.
  std::size_t request = 0;
  /// Value of --scheme; empty if at most one scheme was requested.
  std::string scheme{};
  std::optional<std::string> price{};          ///< of the request
  std::optional<std::string> measured_step{};  ///< of the request

  /// Returns whether `name` means this candidate: its label, the cluster as typed, or the label of its range.
  bool is_called(std::string_view name) const;
};

/// Returns a candidate for each cluster of each request's range (cluster_ranges). With several schemes, each candidate is one cluster
/// under one scheme, named after both, or only after the scheme if there is one cluster. Throws InputError, or UsageError if two
/// candidates were given the same label.
std::vector<Candidate> candidates(const std::vector<CandidateRequest>& requests,
                                  const std::vector<std::string>& schemes = {});

}  // namespace ddpsim
