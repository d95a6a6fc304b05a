#include "sqlite_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

[[noreturn]] void refuse_database(const std::string& file, int status) {
  throw InputError({file, "",
                    fmt::format("cannot be read as an SQLite database: {}", sqlite3_errstr(status)),
                    "The file was cut or damaged: export it again (nsys export --type sqlite)"});
}

std::shared_ptr<sqlite3> opened(const std::string& file, const char* path) {
  sqlite3* handle = nullptr;
  const int status =
      sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  std::shared_ptr<sqlite3> owned(handle, sqlite3_close_v2);
  if (status != SQLITE_OK) refuse_database(file, status);
  return owned;
}

}  // namespace

SqliteRows::SqliteRows(sqlite3_stmt* statement, const std::string& file)
    : statement_(statement, sqlite3_finalize), file_(file) {}

bool SqliteRows::next() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  if (status != SQLITE_DONE) refuse_database(file_, status);
  return false;
}

bool SqliteRows::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t SqliteRows::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteRows::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

SqliteFile::SqliteFile(const std::string& path) : file_(path), handle_(opened(path, path.c_str())) {
  note_input(path);
  check();
}

SqliteFile::SqliteFile(std::span<const unsigned char> bytes, std::string file)
    : file_(std::move(file)), handle_(opened(file_, ":memory:")) {
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  // SQLite takes bytes it may write to, and with READONLY writes none.
  const int status =
      sqlite3_deserialize(handle_.get(), "main", const_cast<unsigned char*>(bytes.data()), size,
                          size, SQLITE_DESERIALIZE_READONLY);
  if (status != SQLITE_OK) refuse_database(file_, status);
  check();
}

void SqliteFile::check() {
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  select("PRAGMA cell_size_check = ON").next();
  select("SELECT count(*) FROM sqlite_master").next();
}

SqliteRows SqliteFile::select(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        &statement, nullptr);
  SqliteRows rows(statement, file_);
  if (status != SQLITE_OK) refuse_database(file_, status);
  return rows;
}

std::vector<std::string> SqliteFile::columns(std::string_view table) const {
  std::vector<std::string> names;
  SqliteRows rows = select(
      fmt::format("SELECT c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c "
                  "WHERE m.type = 'table' AND m.name = '{}'",
                  table));
  while (rows.next()) names.emplace_back(rows.text(0));
  return names;
}

}  // namespace ddpsim
