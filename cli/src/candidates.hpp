// What a command lays side by side: clusters, typed one by one, as ranges, with labels, each under every scheme asked for;
// each with a name of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct Candidate {
  std::string cluster;    ///< as every other command takes it
  std::string label;      ///< in reports: given, or what tells it from the others
  std::string given{};    ///< before "=", shared by a whole range; empty: none was
  std::size_t typed = 0;  ///< which of the texts it is of
  std::string scheme{};   ///< as --scheme takes it; empty where at most one was asked for

  /// Whether a price or a measured step given to `name` is this one's: its label, what was typed, or the label of its range.
  bool is_called(std::string_view name) const;
};

/// Of "LABEL=CLUSTER", each CLUSTER also a range (cluster_ranges). A label holds none of ":/@{}". Throws InputError,
/// or UsageError where two candidates were given one label.
/// With several schemes each candidate is one cluster under one of them, called by both, or by the scheme alone where there
/// is but one cluster.
std::vector<Candidate> candidates(const std::vector<std::string>& texts,
                                  const std::vector<std::string>& schemes = {});

}  // namespace ddpsim
