// What is known about environment variables. scripts/environment_variables.json is compiled in; its
// "about" explains each key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/diagnose/evidence/finding.hpp"

namespace ddpsim {

/// The kind of job to which a costly value can matter.
enum class MattersTo { any_job, several_gpus_a_node, several_nodes };

struct CostlyValues {
  bool (*test)(std::string_view value);  ///< whether this value costs time
  CauseClass what;
  MattersTo matters_to;
  std::string sentence;  ///< follows "NAME=VALUE "
};

struct EnvironmentRow {
  std::string name;
  /// Tells how many ranks and cores a node has, and whether torchrun started them.
  bool of_launcher;
  std::optional<CostlyValues> costly;  ///< absent if no value is known to cost
};

/// All rows in the order of the file, which is the order of findings.
const std::vector<EnvironmentRow>& environment_table();
/// Null if the table does not have the name.
const EnvironmentRow* find_environment_row(std::string_view name);

}  // namespace ddpsim
