#include <fmt/format.h>

#include "description.hpp"

namespace ddpsim {

std::string pod_problem(const SwitchPlan& plan) {
  if (plan.nodes_per_pod % plan.nodes_per_leaf == 0) return "";
  return fmt::format("a pod of {} nodes cannot be divided into leaves of {} nodes",
                     plan.nodes_per_pod, plan.nodes_per_leaf);
}

std::optional<SwitchPlan::Placement> placement_of(std::string_view word) {
  if (word == "ordered") return SwitchPlan::Placement::ordered;
  if (word == "scattered") return SwitchPlan::Placement::scattered;
  return std::nullopt;
}

}  // namespace ddpsim
