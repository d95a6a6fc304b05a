// The clusters a command lays side by side: typed one by one, as ranges, with labels; each with a name of its own.
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

  /// Whether a price or a measured step given to `name` is this one's: its label, what was typed, or the label of its range.
  bool is_called(std::string_view name) const;
};

/// Of "LABEL=CLUSTER", each CLUSTER also a range (cluster_ranges). A label holds none of ":/@{}". Throws InputError,
/// or UsageError where two candidates were given one label.
std::vector<Candidate> candidates(const std::vector<std::string>& texts);

}  // namespace ddpsim
