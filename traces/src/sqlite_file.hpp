// A database of somebody else's: opened to be read, its tables checked by name before they are asked. What it may cost is
// bounded by its size: pages that point at each other, or rows that match each other, make it no longer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace ddpsim {

/// What reading a database may still cost, over all its SELECTs.
struct SqliteBudget {
  std::int64_t steps = 0;  ///< of SQLite's virtual machine: a joined row takes about 40
  std::int64_t rows = 0;
};

/// Rows of one SELECT. Views are valid until the next row.
class SqliteRows {
 public:
  /// Throws InputError where the database is damaged, or has cost more than its size allows.
  bool next();
  bool is_null(int column) const;
  std::int64_t integer(int column) const;   ///< 0 where it is none
  std::string_view text(int column) const;  ///< at most 1 MiB

 private:
  friend class SqliteFile;
  SqliteRows(sqlite3_stmt* statement, const std::string& file, SqliteBudget* budget);
  std::shared_ptr<sqlite3_stmt> statement_;
  const std::string& file_;
  SqliteBudget* budget_;
};

class SqliteFile {
 public:
  /// Throws InputError where it is no database, or a damaged one.
  explicit SqliteFile(const std::string& path);
  /// The same of bytes, which must outlive it; `file` names them.
  SqliteFile(std::span<const unsigned char> bytes, std::string file);

  /// Columns of a table, in order; empty where there is no such table. A view is none: it could run
  /// for ever.
  std::vector<std::string> columns(std::string_view table) const;
  SqliteRows select(const std::string& sql) const;
  const std::string& file() const { return file_; }

 private:
  void check(std::uint64_t bytes);

  std::string file_;
  std::unique_ptr<SqliteBudget> budget_;
  std::shared_ptr<sqlite3> handle_;
};

}  // namespace ddpsim
