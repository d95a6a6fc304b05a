// Replaces sqlite_file.cpp in builds without SQLite, and tells users who open an export.
#include "ddpsim/formats/input_error.hpp"
#include "sqlite_file.hpp"

namespace ddpsim {
namespace {

[[noreturn]] void refuse_export(const std::string& file) {
  throw InputError({file, "", "is an SQLite database, which this build of ddpsim does not read",
                    "Import it with an installed ddpsim, and give the workload that it writes"});
}

}  // namespace

SqliteRows::SqliteRows(sqlite3_stmt* /*statement*/, const std::string& file, SqliteBudget* budget)
    : file_(file), budget_(budget) {}

bool SqliteRows::next() {
  return false;
}

bool SqliteRows::is_null(int /*column*/) const {
  return true;
}

std::int64_t SqliteRows::integer(int /*column*/) const {
  return 0;
}

std::string_view SqliteRows::text(int /*column*/) const {
  return {};
}

SqliteFile::SqliteFile(const std::string& path) : file_(path) {
  refuse_export(file_);
}

SqliteFile::SqliteFile(std::span<const unsigned char> /*bytes*/, std::string file)
    : file_(std::move(file)) {
  refuse_export(file_);
}

std::vector<std::string> SqliteFile::columns(std::string_view /*table*/) const {
  return {};
}

SqliteRows SqliteFile::select(const std::string& /*sql*/) const {
  return {nullptr, file_, budget_.get()};
}

}  // namespace ddpsim
