#include "ddpsim/formats/cost_file.hpp"

#include <vector>

namespace ddpsim {

StatedCosts read_costs(const Cursor& cursor, std::span<const CostField> fields) {
  std::vector<std::string_view> names;
  for (const CostField& field : fields) names.push_back(field.name);
  const Object object = cursor.object(names);
  StatedCosts costs;
  for (const CostField& field : fields)
    if (const auto value = object.optional(field.name))
      costs.push_back({.field = &field, .value = value->number(field.least, field.most)});
  return costs;
}

}  // namespace ddpsim
