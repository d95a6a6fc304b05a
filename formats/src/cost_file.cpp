#include "ddpsim/formats/cost_file.hpp"

#include <vector>

namespace ddpsim {

ObjectType costs_type(std::string_view name, std::string_view says,
                      std::span<const CostField> fields) {
  ObjectType type(name, says);
  for (const CostField& field : fields)
    type.may_have(field.name, {ValueType::Kind::number}, field.says);
  return type;
}

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
