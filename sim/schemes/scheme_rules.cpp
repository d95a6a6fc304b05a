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

std::vector<std::string> as_sure_as_ddp(const Job& /*job*/) {
  return {};
}

std::vector<std::string> rests_on_all_reduce_logs(const Job& /*job*/) {
  return {"broadcasts and reduces are not calibrated: their times come from logs of all-reduces"};
}

std::vector<std::string> gathers_rest_on_all_reduce_logs(const Job& job) {
  if (nccl_of(job.model()) == nullptr) return {};
  return {
      "all-gathers and reduce-scatters are not calibrated: their times come from logs of "
      "all-reduces"};
}

std::string narrowed_gradients(const Job& job, const std::optional<Dtype>& wire) {
  if (!wire) return "";
  const bool any = std::ranges::any_of(job.workload().parameters, [&](const Parameter& parameter) {
    return is_reduced(parameter) && element_size(parameter.dtype) > element_size(*wire);
  });
  return any ? fmt::format("gradients travel with {} bits", 8 * element_size(*wire)) : "";
}

}  // namespace ddpsim
