#include "tar_members.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "checked_tar.hpp"
#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

/// libarchive's error message, on one line.
std::string problem_of(::archive* reader) {
  const char* text = archive_error_string(reader);
  return text == nullptr ? "damaged" : text;
}

using TarReader = std::unique_ptr<::archive, decltype(&archive_read_free)>;

[[noreturn]] void refuse(const std::string& file, const std::string& where, std::string message,
                         Hint hint) {
  throw InputError({file, where, std::move(message), std::move(hint)});
}

/// Source of libarchive's bytes. Exceptions cannot pass through its C code, so they are stored in
/// `problem`.
struct TarFeed {
  CheckedTar tar;
  std::exception_ptr problem;

  void rethrow() const {
    if (problem) std::rethrow_exception(problem);
  }
};

la_ssize_t feed(::archive* reader, void* data, const void** buffer) {
  auto& from = *static_cast<TarFeed*>(data);
  try {
    const std::span<const char> piece = from.tar.next();
    *buffer = piece.data();
    return static_cast<la_ssize_t>(piece.size());
  } catch (...) {
    from.problem = std::current_exception();
    archive_set_error(reader, EIO, "refused");
    return -1;
  }
}

/// Accepts only tar, without compression. Every other format would be an additional risk, and
/// libarchive inflates without a limit.
TarReader tar_reader(TarFeed& from, const std::string& file) {
  TarReader reader(archive_read_new(), archive_read_free);
  if (!reader) throw std::bad_alloc();
  archive_read_support_format_tar(reader.get());
  const int status = archive_read_open(reader.get(), &from, nullptr, feed, nullptr);
  from.rethrow();
  if (status != ARCHIVE_OK)
    refuse(file, "", fmt::format("the archive is cut or damaged ({})", problem_of(reader.get())),
           kPackAgain);
  return reader;
}

/// The `size` bytes of a member. They are kept in pieces until all have arrived, so a header's size
/// alone allocates nothing.
std::string contents_of(::archive* reader, const TarFeed& from, const std::string& file,
                        const std::string& path, std::uint64_t size) {
  constexpr std::size_t kMostInPiece = std::size_t{1} << 20;
  std::vector<std::string> pieces;
  std::uint64_t left = size;
  while (left > 0) {
    std::string& piece = pieces.emplace_back(std::min<std::uint64_t>(left, kMostInPiece), '\0');
    const la_ssize_t got = archive_read_data(reader, piece.data(), piece.size());
    from.rethrow();
    if (got <= 0)
      refuse(file, path,
             fmt::format("the archive is cut or damaged here ({})",
                         got < 0 ? problem_of(reader) : "it ends early"),
             kPackAgain);
    piece.resize(static_cast<std::size_t>(got));
    left -= static_cast<std::uint64_t>(got);
  }
  if (pieces.size() == 1) return std::move(pieces.front());
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(size));
  for (const std::string& piece : pieces) bytes += piece;
  return bytes;
}

std::vector<TarMember> members_of(::archive* reader, const TarFeed& from, const std::string& file) {
  std::vector<TarMember> members;
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(reader, &entry);
    from.rethrow();
    if (status == ARCHIVE_EOF) return members;
    if (status < ARCHIVE_WARN)
      refuse(file, "", fmt::format("the archive is cut or damaged ({})", problem_of(reader)),
             kPackAgain);
    const std::uint64_t size = from.tar.member_size();
    if (archive_entry_size(entry) != static_cast<la_int64_t>(size))
      refuse(file, "", "the archive is damaged: two sizes are stated for one file", kPackAgain);
    const char* name = archive_entry_pathname(entry);
    std::string path = name == nullptr ? "" : name;
    if (path.starts_with("./")) path.erase(0, 2);  // from tar czf FILE ./FOLDER
    require_inside(path, file);
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr)
      refuse(file, path, "is a link, which scripts/collect.sh never packs", kUnpackBySelf);
    const auto type = archive_entry_filetype(entry);
    if (type == AE_IFDIR) continue;
    if (type != AE_IFREG)
      refuse(file, path, "is not an ordinary file, and scripts/collect.sh packs only those",
             kUnpackBySelf);
    if (std::ranges::find(members, path, &TarMember::path) != members.end())
      refuse(file, path, "is in the archive twice", kPackAgain);
    members.push_back({path, contents_of(reader, from, file, path, size)});
  }
}

std::vector<TarMember> unpacked(ByteSource bytes, const std::string& file) {
  TarFeed from{CheckedTar(inflated(std::move(bytes), file).source, file), nullptr};
  const TarReader reader = tar_reader(from, file);
  return members_of(reader.get(), from, file);
}

}  // namespace

std::vector<TarMember> read_tar(const std::filesystem::path& path) {
  return unpacked(file_source(path), path.string());
}

std::vector<TarMember> read_tar(std::span<const unsigned char> bytes, const std::string& file) {
  return unpacked(memory_source({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), file);
}

}  // namespace ddpsim
