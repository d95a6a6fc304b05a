// A database of somebody else's: opened to be read, its tables checked by name before they are asked.
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

/// Rows of one SELECT. Views are valid until the next row.
class SqliteRows {
 public:
  bool next();
  bool is_null(int column) const;
  std::int64_t integer(int column) const;  ///< 0 where it is none
  std::string_view text(int column) const;

 private:
  friend class SqliteFile;
  SqliteRows(sqlite3_stmt* statement, const std::string& file);
  std::shared_ptr<sqlite3_stmt> statement_;
  const std::string& file_;
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
  void check();

  std::string file_;
  std::shared_ptr<sqlite3> handle_;
};

}  // namespace ddpsim
