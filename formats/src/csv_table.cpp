#include "ddpsim/formats/csv_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kLength = "length";

/// Removes the first name from a path and returns it.
std::string_view take_name(std::string_view& path) {
  const std::string_view name = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(name.size() + 1, path.size()));
  return name;
}

bool fits_a_cell(const ValueType& type, std::string_view path) {
  if (path.empty())
    return type.kind == ValueType::Kind::list
               ? type.item->kind != ValueType::Kind::list && fits_a_cell(*type.item, "")
               : type.kind != ValueType::Kind::object &&
                     type.kind != ValueType::Kind::texts_by_key &&
                     type.kind != ValueType::Kind::values_by_key;
  const std::string_view name = take_name(path);
  if (type.kind == ValueType::Kind::object) {
    const MemberType* member = type.object->find(name);
    return member != nullptr && fits_a_cell(member->type, path);
  }
  if (type.kind == ValueType::Kind::list)
    return name == kLength ? path.empty()
                           : parse_number<std::size_t>(name) && fits_a_cell(*type.item, path);
  return (type.kind == ValueType::Kind::texts_by_key ||
          type.kind == ValueType::Kind::values_by_key) &&
         path.empty();
}

/// Values of a JSON text by path: "gain_us/low", "cap_range_mb/0", "cap_range_mb/length". Null is
/// an empty text.
using Values = std::map<std::string, std::string>;

/// Collects the values from nlohmann's parser, which passes numbers as written. The function names
/// are those of its SAX interface.
class ValueReader {
 public:
  Values take() { return std::move(values_); }

  bool null() { return add(""); }
  bool boolean(bool value) { return add(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return add(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { return add(std::to_string(value)); }
  bool number_float(double, const std::string& written) { return add(written); }
  bool string(const std::string& value) { return add(value); }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // does not occur in text
  bool start_object(std::size_t) { return open(false); }
  bool start_array(std::size_t) { return open(true); }
  bool end_object() { return levels_.pop_back(), true; }
  bool end_array() {
    const Level list = std::move(levels_.back());
    levels_.pop_back();
    return values_.emplace(list.path + std::string(kLength), std::to_string(list.items)), true;
  }
  bool key(const std::string& name) { return key_ = name, true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    return false;
  }

 private:
  struct Level {
    /// Path of the current container, up to the last '/'.
    std::string path;
    bool list;
    std::size_t items = 0;
  };

  std::string next_path() {
    if (levels_.empty()) return "";
    Level& level = levels_.back();
    return level.path + (level.list ? std::to_string(level.items++) : key_);
  }
  bool add(std::string value) { return values_.emplace(next_path(), std::move(value)), true; }
  bool open(bool list) {
    const std::string path = next_path();
    levels_.push_back({path.empty() ? "" : path + '/', list});
    return true;
  }

  std::vector<Level> levels_;
  std::string key_;
  Values values_;
};

Values values_of(std::string_view object) {
  ValueReader reader;
  const bool whole = nlohmann::json::sax_parse(object, &reader);
  DDPSIM_ASSERT(whole, "a row is no JSON");
  return reader.take();
}

std::string list_path(const std::string& path, std::string_view name) {
  return path + '/' + std::string(name);
}

std::string cell(const Values& values, const CsvColumn& column) {
  const auto length = values.find(list_path(column.path, kLength));
  if (length == values.end()) {
    const auto value = values.find(column.path);
    return value == values.end() ? "" : value->second;
  }
  std::string joined;
  for (std::size_t i = 0; i < *parse_number<std::size_t>(length->second); ++i)
    joined +=
        (i > 0 ? column.separator : "") + values.at(list_path(column.path, std::to_string(i)));
  return joined;
}

/// Whether the object has the member; null counts as present.
bool has_member(std::string_view object, const std::string& key) {
  const Values values = values_of(object);
  return values.contains(key) || values.contains(list_path(key, kLength));
}

std::vector<CsvColumn> columns_of(const ObjectType& row, const std::vector<std::string>& objects) {
  std::vector<CsvColumn> columns;
  for (const MemberType& member : row.members)
    if (member.required || std::ranges::any_of(objects, [&](const std::string& object) {
          return has_member(object, member.key);
        }))
      columns.emplace_back(member.key.c_str());
  return columns;
}

}  // namespace

bool fits_a_cell(const ObjectType& row, std::string_view path) {
  return !path.empty() && fits_a_cell(object_of(row), path);
}

CsvTable::CsvTable(const ObjectType& row, std::vector<CsvColumn> columns)
    : columns_(std::move(columns)) {
  for (const CsvColumn& column : columns_)
    DDPSIM_ASSERT(fits_a_cell(row, column.path),
                  (row.name + " has no value for a cell at " + column.path).c_str());
}

std::string CsvTable::header() const {
  std::vector<std::string> names;
  for (const CsvColumn& column : columns_) names.push_back(column.name);
  return csv_row(names);
}

std::string CsvTable::row(std::string_view object) const {
  const Values values = values_of(object);
  std::vector<std::string> cells;
  for (const CsvColumn& column : columns_) cells.push_back(cell(values, column));
  return csv_row(cells);
}

std::string csv_of(const ObjectType& row, const std::vector<std::string>& objects,
                   std::vector<CsvColumn> columns) {
  if (columns.empty()) columns = columns_of(row, objects);
  const CsvTable table(row, std::move(columns));
  std::string csv = table.header();
  for (const std::string& object : objects) csv += table.row(object);
  return csv;
}

}  // namespace ddpsim
