// A database from someone else. It is opened read-only, and its tables are checked by name before
// any query. Its size limits the cost of a query, even if pages point at each other or many rows
// match each other.
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

/// Remaining cost of reading a database, over all its SELECTs.
struct SqliteBudget {
  /// Steps of SQLite's virtual machine. A joined row takes about 40.
  std::int64_t steps = 0;
  std::int64_t rows = 0;
};

/// Rows of one SELECT. Views are valid until the next row.
class SqliteRows {
 public:
  /// Throws InputError if the database is damaged, or if reading it costs more than its size
  /// allows.
  bool next();
  bool is_null(int column) const;
  std::int64_t integer(int column) const;   ///< 0 if it is not an integer
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
  /// Throws InputError if the file is not a database, or is damaged.
  explicit SqliteFile(const std::string& path);
  /// Opens bytes in memory, which must outlive the object. `file` is their name in messages.
  SqliteFile(std::span<const unsigned char> bytes, std::string file);

  /// Columns of a table, in order; empty if there is no such table. A view does not count, because
  /// its query could run forever.
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
