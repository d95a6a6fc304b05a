#include "unit_sizes.hpp"

namespace ddpsim {
namespace {

struct Elements {
  std::int64_t whole = 0;
  std::int64_t padded = 0;
};

void add(UnitSizes& sizes, const Elements& elements, Dtype stored, int ranks,
         std::optional<Dtype> param_dtype, std::optional<Dtype> reduce_dtype) {
  const std::int64_t computed = element_size(param_dtype.value_or(stored));
  const std::int64_t reduced = element_size(reduce_dtype.value_or(param_dtype.value_or(stored)));
  sizes.whole += Bytes(elements.whole * element_size(stored));
  sizes.stored += Bytes(elements.padded / ranks * element_size(stored));
  sizes.gathered += Bytes(elements.padded * computed);
  sizes.gradient += Bytes(elements.whole * computed);
  sizes.reduced += Bytes(elements.padded * reduced);
  sizes.unpadded += Bytes(elements.whole * reduced);
}

}  // namespace

Dtype stored_type(const Workload& workload, const Unit& unit) {
  return unit.parameters.empty() ? Dtype::float32
                                 : workload.parameters[unit.parameters.front()].dtype;
}

std::int64_t elements_of(const Parameter& parameter) {
  return gradient_bytes(parameter).value_or(Bytes()).count() / element_size(parameter.dtype);
}

std::int64_t padded_to(std::int64_t multiple_of, std::int64_t count) {
  return (count + multiple_of - 1) / multiple_of * multiple_of;
}

GradientDivision divided_in_two(int ranks) {
  int before = 1;
  while (ranks % before == 0 && ranks > before * before) before *= 2;
  return {.before = before > 1, .after = ranks > before};
}

double share_of(Bytes part, Bytes whole) {
  if (part >= whole) return 1;
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

UnitSizes flat_unit(const Workload& workload, const Unit& unit, const FlatLayout& layout,
                    std::optional<Dtype> param_dtype, std::optional<Dtype> reduce_dtype) {
  UnitSizes sizes;
  if (unit.parameters.empty()) return sizes;
  constexpr std::int64_t kAlignment = 16;
  const Dtype dtype = workload.parameters[unit.parameters.front()].dtype;
  Elements elements;
  for (const std::size_t index : unit.parameters) {
    const Parameter& parameter = workload.parameters[index];
    if (layout.use_orig_params)
      elements.padded =
          padded_to(kAlignment / element_size(param_dtype.value_or(dtype)), elements.padded);
    elements.padded += elements_of(parameter);
    elements.whole += elements_of(parameter);
  }
  elements.padded =
      padded_to(layout.use_orig_params ? layout.group : layout.shards, elements.padded);
  add(sizes, elements, dtype, layout.shards, param_dtype, reduce_dtype);
  return sizes;
}

UnitSizes row_sharded_unit(const Workload& workload, const Unit& unit, int ranks,
                           std::optional<Dtype> param_dtype, std::optional<Dtype> reduce_dtype) {
  UnitSizes sizes;
  for (const std::size_t index : unit.parameters) {
    const Parameter& parameter = workload.parameters[index];
    const std::int64_t whole = elements_of(parameter);
    const std::int64_t rows =
        parameter.shape && !parameter.shape->empty() ? parameter.shape->front() : 1;
    if (rows == 0) continue;
    const Elements elements{.whole = whole, .padded = padded_to(ranks, rows) * (whole / rows)};
    add(sizes, elements, parameter.dtype, ranks, param_dtype, reduce_dtype);
  }
  return sizes;
}

}  // namespace ddpsim
