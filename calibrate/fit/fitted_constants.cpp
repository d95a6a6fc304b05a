#include "fitted_constants.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {

std::span<const CostConstant> fitted_constants() {
  static const std::vector<CostConstant> kFitted = [] {
    std::vector<CostConstant> fitted;
    std::ranges::copy_if(cost_constants(), std::back_inserter(fitted),
                         [](const CostConstant& row) { return row.prior.deviation > 0; });
    return fitted;
  }();
  return kFitted;
}

PathConstants constants_at(const PathConstants& prior, std::span<const double> steps) {
  PathConstants constants = prior;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const CostConstant& row = fitted_constants()[i];
    double& value = row.of(constants);
    if (row.prior.additive) {
      value += steps[i];
      continue;
    }
    const double from = row.prior.expected > 0 ? row.prior.expected : value;
    value = std::clamp(from * elementary::exp(steps[i]), row.range.least,
                       std::max(row.prior.most, from));
  }
  return constants;
}

}  // namespace ddpsim
