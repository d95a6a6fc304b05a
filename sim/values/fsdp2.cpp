#include "ddpsim/sim/values/fsdp2.hpp"

#include <utility>

namespace ddpsim {

SchemeFacts Fsdp2::facts() const {
  return sharding_facts(true, kUnknownOfPyTorch);
}

std::vector<SchemeOption> Fsdp2::options() {
  SchemeOption reshard = flag_option("reshard_after_forward", reshard_after_forward);
  if (reshard_to) reshard.in_force = std::to_string(*reshard_to);
  reshard.value = SchemeOption::Whole{
      2, kMostRanksOrSteps, [this](std::int64_t ranks) { reshard_to = static_cast<int>(ranks); }};
  std::vector<SchemeOption> options =
      joined({std::move(reshard), flag_option("reshard_root", reshard_root)}, wrap_options(wrap));
  options.push_back(ranks_option("group", group));
  options =
      joined(std::move(options), mixed_precision_options(param_dtype, reduce_dtype, own_types));
  options = joined(std::move(options), {flag_option("separate_groups", separate_groups),
                                        flag_option("no_sync", no_sync)});
  return joined(std::move(options), cpu_offload_options(offload));
}

std::vector<int> Fsdp2::groups(int /*gpus_per_node*/) const {
  std::vector<int> groups;
  if (group) groups.push_back(*group);
  if (reshard_to) groups.push_back(*reshard_to);
  return groups;
}

}  // namespace ddpsim
