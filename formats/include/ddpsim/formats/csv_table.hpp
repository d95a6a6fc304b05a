// Tables whose rows are objects of JSON documents. A column names a member of the object, and its cells hold what JSON prints for
// that member: what a figure is called and how it is rounded is said once, where the object is described (described.hpp).
//
//   csv_of(described_bucket(), buckets, {{"bucket", "index"}, "bytes", {"tensors", "parameter_indices/length"}})
//
// Texts stand without quotes. What is null or left out is an empty cell. The values of a list stand in one cell, with blanks between.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/described.hpp"

namespace ddpsim {

struct CsvColumn {
  std::string name;
  /// Where a row's object has the value: "bytes", a member of a member ("gain_us/low"), one value of a list ("cap_range_mb/0") or
  /// how many it has ("parameter_indices/length").
  std::string path;
  const char* separator = " ";  ///< between the values of a list

  CsvColumn(const char* key) : name(key), path(key) {}  // NOLINT(google-explicit-constructor)
  CsvColumn(std::string called, std::string shows, const char* between = " ")
      : name(std::move(called)), path(std::move(shows)), separator(between) {}
};

/// Whether objects of type `row` may have a value there that fits a cell: no object, no list of objects.
bool fits_a_cell(const ObjectType& row, std::string_view path);

class CsvTable {
 public:
  /// A column that does not fit a cell is a mistake of the caller.
  CsvTable(const ObjectType& row, std::vector<CsvColumn> columns);

  std::string header() const;
  /// `object`: a JSON text of the type of the table's rows.
  std::string row(std::string_view object) const;

 private:
  std::vector<CsvColumn> columns_;
};

/// The whole table. Without columns it has one for every member; for a member that may be left out, only where a row has it.
std::string csv_of(const ObjectType& row, const std::vector<std::string>& objects,
                   std::vector<CsvColumn> columns);

template <typename T>
std::string csv_of(const Described<T>& described, const std::vector<T>& rows,
                   std::vector<CsvColumn> columns = {}) {
  std::vector<std::string> objects;
  for (const T& row : rows) objects.push_back(described.text_of(row));
  return csv_of(described.type(), objects, std::move(columns));
}

}  // namespace ddpsim
