#include "ddpsim/formats/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <system_error>

#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/output_file.hpp"

namespace ddpsim {
namespace {

std::string reason_of_errno() {
  return std::generic_category().message(errno == 0 ? EIO : errno);
}

[[noreturn]] void unreadable(const std::filesystem::path& path, std::string message,
                             Hint hint = {}) {
  throw InputError({path.string(), "", std::move(message), std::move(hint)});
}

/// Devices such as /dev/zero and /dev/urandom never end, so they are not read into memory. A
/// terminal is not endless.
bool is_endless(const std::filesystem::path& path, std::filesystem::file_status status) {
  if (!std::filesystem::is_character_file(status)) return false;
  const int opened = ::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
  const bool terminal = opened >= 0 && ::isatty(opened) == 1;
  if (opened >= 0) ::close(opened);
  return !terminal;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::int64_t limit) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) unreadable(path, "no such file");
  if (error) unreadable(path, "cannot be read: " + error.message());
  if (std::filesystem::is_directory(status)) unreadable(path, "is a directory; expected a file");

  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) unreadable(path, "cannot be read: " + reason_of_errno());
  note_input(path);
  const bool endless = is_endless(path, status);
  // Reads in pieces, because the size cannot be trusted: pipes have none, and files grow.
  constexpr std::size_t kPiece = 1 << 16;
  std::string content;
  const std::uintmax_t size =
      std::filesystem::is_regular_file(status) ? std::filesystem::file_size(path, error) : 0;
  if (!error && size <= static_cast<std::uintmax_t>(limit))
    content.reserve(static_cast<std::size_t>(size) + kPiece);  // avoids repeated doubling
  while (in) {
    const std::size_t before = content.size();
    content.resize(before + kPiece);
    in.read(content.data() + before, static_cast<std::streamsize>(kPiece));
    content.resize(before + static_cast<std::size_t>(in.gcount()));
    if (endless && !content.empty()) unreadable(path, "is an endless device; expected a file");
    if (static_cast<std::int64_t>(content.size()) > limit) {
      unreadable(
          path, fmt::format("is larger than {} bytes, the most this kind of file may have", limit));
    }
  }
  if (in.bad()) unreadable(path, "cannot be read: " + reason_of_errno());
  return content;
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  OutputFile file(path);
  file.write(content);
  file.finish();
}

}  // namespace ddpsim
