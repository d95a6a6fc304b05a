// What a command lays side by side: clusters, typed one by one, as ranges, with labels, each under every scheme asked for;
// each with a name of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// A cluster or a range of clusters that somebody wants compared, and what is said of it alone. Only `cluster` is parsed further.
struct CandidateRequest {
  std::string cluster;
  std::optional<std::string> label{};          ///< any text, also an empty one
  std::optional<std::string> price{};          ///< "31.2/node_hour"
  std::optional<std::string> measured_step{};  ///< "104ms", or FILE
};

/// Splits "LABEL=CLUSTER" as a user types it. Such a label holds none of ":/@{}" and does not begin with "-".
CandidateRequest typed_candidate(const std::string& text);

struct Candidate {
  std::string cluster;                 ///< as every other command takes it
  std::string label;                   ///< in reports: given, or what tells it from the others
  std::optional<std::string> given{};  ///< the label that was asked for, shared by a whole range
  std::size_t request = 0;             ///< which of the requests it is of
  std::string scheme{};  ///< as --scheme takes it; empty where at most one was asked for
  std::optional<std::string> price{};          ///< of the request
  std::optional<std::string> measured_step{};  ///< of the request

  /// Whether a price or a measured step given to `name` is this one's: its label, what was typed, or the label of its range.
  bool is_called(std::string_view name) const;
};

/// One candidate for each cluster of each request's range (cluster_ranges). Throws InputError, or UsageError where two
/// candidates were given one label.
/// With several schemes each candidate is one cluster under one of them, called by both, or by the scheme alone where there
/// is but one cluster.
std::vector<Candidate> candidates(const std::vector<CandidateRequest>& requests,
                                  const std::vector<std::string>& schemes = {});

}  // namespace ddpsim
