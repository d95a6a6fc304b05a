#include "scheme_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/sim/step/bucket_assignment.hpp"

namespace ddpsim {

std::string same_numerics(const Job& /*job*/) {
  return "";
}

std::optional<std::string> nothing_hinders(const Job& /*job*/) {
  return std::nullopt;
}

std::string narrowed_gradients(const Job& job, const std::optional<Dtype>& wire) {
  if (!wire) return "";
  const bool any = std::ranges::any_of(job.workload().parameters, [&](const Parameter& parameter) {
    return is_reduced(parameter) && element_size(parameter.dtype) > element_size(*wire);
  });
  return any ? fmt::format("gradients travel with {} bits", 8 * element_size(*wire)) : "";
}

}  // namespace ddpsim
