#include "sqlite_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

constexpr int kLongestValue = 1 << 20;  // bytes; names of kernels have a few thousand
constexpr int kStepsBetweenLooks = 1000;

/// A row of an export has at least 40 bytes, and one of five columns at least 10. A joined row
/// costs SQLite about 40 steps.
SqliteBudget budget_of(std::uint64_t bytes) {
  constexpr std::int64_t kSteps = 10'000'000, kStepsPerByte = 64;
  constexpr std::int64_t kRows = 10'000, kBytesPerRow = 8;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  const auto size = static_cast<std::int64_t>(std::min(bytes, kMost));
  return {.steps = kSteps + kStepsPerByte * size, .rows = kRows + size / kBytesPerRow};
}

/// SQLite calls this after a number of steps. A result other than 0 ends the statement with
/// SQLITE_INTERRUPT.
int spend_steps(void* spent) {
  auto& budget = *static_cast<SqliteBudget*>(spent);
  budget.steps -= kStepsBetweenLooks;
  return budget.steps < 0 ? 1 : 0;
}

[[noreturn]] void refuse_cost(const std::string& file) {
  throw InputError({file, "", "is a database that takes far more work to read than its size allows",
                    "The file is damaged, or made to block its reader: export it again (nsys "
                    "export --type sqlite)"});
}

[[noreturn]] void refuse_database(const std::string& file, int status) {
  if (status == SQLITE_INTERRUPT) refuse_cost(file);
  throw InputError({file, "",
                    fmt::format("cannot be read as an SQLite database: {}", sqlite3_errstr(status)),
                    "The file was cut or damaged: export it again (nsys export --type sqlite)"});
}

/// SQLite keeps changes that are not yet in the database in a separate file. To read them, it would
/// lock the file and create others in that folder.
void require_closed(const std::string& path) {
  for (const char* ending : {"-wal", "-journal"}) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(path + ending, none)) continue;
    const std::string first = read_up_to(file_source(path + ending), 1);
    if (first.empty() || first.front() == '\0') continue;  // SQLite marks a finished file like this
    throw InputError({path, "",
                      fmt::format("is not complete: {} holds changes that are not in it yet",
                                  in_quotes(path + ending)),
                      "Wait until the program that writes it ends, or export it again (nsys export "
                      "--type sqlite)"});
  }
}

/// A name with which SQLite treats the database as unchanging. It then neither locks it nor creates
/// files.
std::string unchanging(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
  return uri + "?immutable=1";
}

std::shared_ptr<sqlite3> opened(const std::string& file, const std::string& name) {
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(
      name.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
  std::shared_ptr<sqlite3> owned(handle, sqlite3_close_v2);
  if (status != SQLITE_OK) refuse_database(file, status);
  return owned;
}

}  // namespace

SqliteRows::SqliteRows(sqlite3_stmt* statement, const std::string& file, SqliteBudget* budget)
    : statement_(statement, sqlite3_finalize), file_(file), budget_(budget) {}

bool SqliteRows::next() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW && --budget_->rows < 0) refuse_cost(file_);
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
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  // Rows may share the pages of one long text, so each copy of it counts.
  constexpr int kBytesPerStep = 64;
  budget_->steps -= bytes / kBytesPerStep;
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(bytes)};
}

SqliteFile::SqliteFile(const std::string& path) : file_(path) {
  require_closed(path);
  handle_ = opened(path, unchanging(path));
  note_input(path);
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(path, none);
  check(none ? 0 : bytes);
}

SqliteFile::SqliteFile(std::span<const unsigned char> bytes, std::string file)
    : file_(std::move(file)), handle_(opened(file_, ":memory:")) {
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  // SQLite expects writable bytes, but does not write with READONLY.
  const int status =
      sqlite3_deserialize(handle_.get(), "main", const_cast<unsigned char*>(bytes.data()), size,
                          size, SQLITE_DESERIALIZE_READONLY);
  if (status != SQLITE_OK) refuse_database(file_, status);
  check(bytes.size());
}

void SqliteFile::check(std::uint64_t bytes) {
  budget_ = std::make_unique<SqliteBudget>(budget_of(bytes));
  sqlite3_progress_handler(handle_.get(), kStepsBetweenLooks, spend_steps, budget_.get());
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  select("PRAGMA cell_size_check = ON").next();
  select("SELECT 1 FROM sqlite_master LIMIT 1").next();  // reads the whole schema
}

SqliteRows SqliteFile::select(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        &statement, nullptr);
  SqliteRows rows(statement, file_, budget_.get());
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
