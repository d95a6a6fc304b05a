// Tables whose rows are objects of JSON documents. A column names a member of the object, and its
// cells hold what JSON prints for that member. So the name and the rounding of a value are defined
// once, where the object is described (described.hpp).
//
//   csv_of(described_bucket(), buckets,
//          {{"bucket", "index"}, "bytes", {"tensors", "parameter_indices/length"}})
//
// Texts are written without JSON quotes. A value that is null or left out is an empty cell. The
// values of a list are written in one cell, with blanks between them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/described.hpp"

namespace ddpsim {

struct CsvColumn {
  std::string name;
  /// Place of the value in a row's object. "bytes" is a member and "gain_us/low" a member of a
  /// member. "cap_range_mb/0" is one value of a list and "parameter_indices/length" their number.
  std::string path;
  const char* separator = " ";  ///< between the values of a list

  CsvColumn(const char* key) : name(key), path(key) {}  // NOLINT(google-explicit-constructor)
  CsvColumn(std::string called, std::string shows, const char* between = " ")
      : name(std::move(called)), path(std::move(shows)), separator(between) {}
};

/// Whether the value at `path` in objects of type `row` fits a cell, which an object or a list of
/// objects does not.
bool fits_a_cell(const ObjectType& row, std::string_view path);

class CsvTable {
 public:
  /// The caller makes sure that every column fits a cell.
  CsvTable(const ObjectType& row, std::vector<CsvColumn> columns);

  std::string header() const;
  /// `object` is a JSON text of the rows' type.
  std::string row(std::string_view object) const;

 private:
  std::vector<CsvColumn> columns_;
};

/// Formats the whole table. Without `columns`, it has one column for every member. A member that
/// may be left out gets a column only if a row has it.
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
