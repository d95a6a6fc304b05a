#include "ddpsim/sim/values/scheme_option.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "ddpsim/sim/values/data_loader.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kMostElements = 1'000'000'000'000'000;

const char* word_of_flag(bool value) {
  return value ? "true" : "false";
}

SchemeOption flag(std::string_view name, bool in_force, std::function<void(bool)> set) {
  SchemeOption option{.name = name, .in_force = word_of_flag(in_force)};
  option.words = {.words = {"true", "false"},
                  .set = [set = std::move(set)](std::size_t word) { set(word == 0); }};
  return option;
}

SchemeOption whole(std::string_view name, std::optional<std::int64_t> in_force,
                   SchemeOption::Whole takes) {
  SchemeOption option{.name = name, .in_force = {}};
  if (in_force) option.in_force = std::to_string(*in_force);
  option.value = std::move(takes);
  return option;
}

}  // namespace

SchemeOption flag_option(std::string_view name, bool& value) {
  return flag(name, value, [&value](bool given) { value = given; });
}

SchemeOption flag_option(std::string_view name, std::optional<bool>& value, bool in_force) {
  return flag(name, value.value_or(in_force), [&value](bool given) { value = given; });
}

SchemeOption dtype_option(std::string_view name, std::optional<Dtype>& value,
                          std::optional<Dtype> in_force) {
  const WordTable<std::optional<Dtype>> table = {
      {Dtype::bfloat16, "bf16"},   {Dtype::bfloat16, "bfloat16"}, {Dtype::float16, "fp16"},
      {Dtype::float16, "float16"}, {Dtype::float32, "fp32"},      {Dtype::float32, "float32"},
      {std::nullopt, "parameters"}};
  SchemeOption option = word_option(name, value, table);
  option.in_force = in_force ? name_of(*in_force) : "parameters";
  return option;
}

std::vector<SchemeOption> mixed_precision_options(std::optional<Dtype>& param_dtype,
                                                  std::optional<Dtype>& reduce_dtype,
                                                  bool& own_types) {
  std::vector<SchemeOption> options = {
      dtype_option("param_dtype", param_dtype, param_dtype),
      dtype_option("reduce_dtype", reduce_dtype, reduce_dtype ? reduce_dtype : param_dtype)};
  for (SchemeOption& option : options) {
    const std::optional<Dtype>& value = &option == &options.front() ? param_dtype : reduce_dtype;
    option.words.set = [set = option.words.set, &value, &own_types](std::size_t word) {
      set(word);
      own_types = own_types || !value;
    };
  }
  return options;
}

SchemeOption elements_option(std::string_view name, std::int64_t& value, std::int64_t least) {
  return whole(name, value,
               {least, kMostElements, [&value](std::int64_t given) { value = given; }});
}

SchemeOption elements_option(std::string_view name, std::optional<std::int64_t>& value) {
  return whole(name, value, {1, kMostElements, [&value](std::int64_t given) { value = given; }});
}

SchemeOption count_option(std::string_view name, int& value) {
  return whole(name, value, {1, kMostRanksOrSteps, [&value](std::int64_t given) {
                               value = static_cast<int>(given);
                             }});
}

SchemeOption ranks_option(std::string_view name, std::optional<int>& value,
                          std::optional<int> otherwise) {
  return whole(
      name, value ? value : otherwise,
      {1, kMostRanksOrSteps, [&value](std::int64_t given) { value = static_cast<int>(given); }});
}

SchemeOption megabytes_option(std::string_view name, Bytes& value, double least) {
  constexpr double kByte = 1e6;
  constexpr double kMost = 1e6;
  SchemeOption option{.name = name,
                      .in_force = fmt::format("{}", static_cast<double>(value.count()) / kByte)};
  option.value = SchemeOption::Real{"megabytes", least, kMost, [&value](double given) {
                                      value = Bytes(std::llround(given * kByte));
                                    }};
  return option;
}

SchemeOption rate_option(std::string_view name, std::optional<std::string> in_force,
                         std::function<void(Bandwidth)> set) {
  SchemeOption option{.name = name, .in_force = std::move(in_force)};
  option.value = SchemeOption::Real{"GB/s", 0.001, 1e6, [set = std::move(set)](double given) {
                                      set(Bandwidth::gigabytes_per_second(given));
                                    }};
  return option;
}

std::vector<SchemeOption> offload_rates(CpuOffload& offload) {
  const auto shown = [](bool any, Bandwidth rate) -> std::optional<std::string> {
    if (!any) return std::nullopt;
    return fmt::format("{:.6g}", rate.gigabytes_per_second());
  };
  return {rate_option("cpu_rate", shown(offload.optimizer, offload.cpu_rate),
                      [&offload](Bandwidth given) {
                        offload.cpu_rate = given;
                        offload.cpu_rate_assumed = false;
                      }),
          rate_option("pcie", shown(offload.any(), offload.pcie.value_or(kHostCopy)),
                      [&offload](Bandwidth given) { offload.pcie = given; })};
}

std::vector<SchemeOption> cpu_offload_options(CpuOffload& offload) {
  std::vector<SchemeOption> options = {
      flag("cpu_offload", offload.any(),
           [&offload](bool given) { offload.optimizer = offload.parameters = given; }),
      flag_option("fused", offload.fused)};
  if (!offload.any())
    for (SchemeOption& option : options) option.in_force.reset();
  return joined(std::move(options), offload_rates(offload));
}

std::vector<SchemeOption> joined(std::vector<SchemeOption> first,
                                 std::vector<SchemeOption> second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()),
               std::make_move_iterator(second.end()));
  return first;
}

}  // namespace ddpsim
