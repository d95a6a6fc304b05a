#include "ddpsim/sim/values/zero.hpp"

#include <utility>

namespace ddpsim {
namespace {

/// An option with the words of DeepSpeed's "device".
SchemeOption device_option(std::string_view name, bool& on_cpu) {
  SchemeOption option = word_option<bool>(name, on_cpu, {{true, "cpu"}, {false, "none"}});
  if (!on_cpu) option.in_force.reset();
  return option;
}

SchemeOption release_option(DeepSpeedVersion& deepspeed) {
  SchemeOption option{.name = "deepspeed", .in_force = to_string(deepspeed)};
  option.value = SchemeOption::Release{[&deepspeed](DeepSpeedVersion given) { deepspeed = given; }};
  return option;
}

}  // namespace

SchemeFacts Zero::facts() const {
  return sharding_facts(false, stage < 3 ? kUnknownOfZero12 : kUnknownOfLibraries);
}

std::vector<SchemeOption> Zero::options() {
  std::vector<SchemeOption> options = {elements_option("reduce_bucket_size", reduce_bucket_size),
                                       flag_option("overlap_comm", overlap_comm, stage == 3)};
  if (stage < 3) {
    options.push_back(elements_option("allgather_bucket_size", allgather_bucket_size));
  } else {
    options = joined(std::move(options), wrap_options(wrap));
    options =
        joined(std::move(options),
               {elements_option("stage3_prefetch_bucket_size", stage3_prefetch_bucket_size, 0),
                elements_option("stage3_param_persistence_threshold",
                                stage3_param_persistence_threshold, 0),
                elements_option("stage3_max_live_parameters", stage3_max_live_parameters, 0),
                elements_option("stage3_max_reuse_distance", stage3_max_reuse_distance, 0),
                ranks_option("zero_hpz_partition_size", zero_hpz_partition_size, 1),
                flag_option("zero_quantized_weights", zero_quantized_weights),
                flag_option("zero_quantized_gradients", zero_quantized_gradients)});
  }
  options = joined(std::move(options),
                   {dtype_option("param_dtype", param_dtype, param_dtype),
                    dtype_option("communication_data_type", communication_data_type, sent_in()),
                    device_option("offload_optimizer", offload.optimizer)});
  if (stage == 3) options.push_back(device_option("offload_param", offload.parameters));
  options.push_back(release_option(deepspeed));
  return joined(std::move(options), offload_rates(offload));
}

std::vector<int> Zero::groups(int /*gpus_per_node*/) const {
  if (!zero_hpz_partition_size) return {};
  return {*zero_hpz_partition_size};
}

std::vector<Zero> Zero::all() {
  return {{.stage = 1}, {.stage = 2}, {.stage = 3}};
}

}  // namespace ddpsim
