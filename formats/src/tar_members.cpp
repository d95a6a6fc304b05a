#include "tar_members.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

using TarReader = std::unique_ptr<::archive, decltype(&archive_read_free)>;

constexpr std::size_t kBlock = std::size_t{64} << 10;

[[noreturn]] void refuse(const std::string& file, const std::string& where, std::string message,
                         std::string hint) {
  throw InputError({file, where, std::move(message), std::move(hint)});
}

constexpr const char* kPackAgain = "Copy it again, or pack it again with scripts/collect.sh";
constexpr const char* kUnpackBySelf =
    "Nothing of it was kept; if you trust it, unpack it and give the trace inside";

/// No other format, no other compression: each would be another way in.
TarReader tar_reader() {
  TarReader reader(archive_read_new(), archive_read_free);
  if (!reader) throw std::bad_alloc();
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  return reader;
}

/// What libarchive says of it, in one line.
std::string problem_of(::archive* reader) {
  const char* text = archive_error_string(reader);
  return text == nullptr ? "damaged" : text;
}

std::string contents_of(::archive* reader, const std::string& file, const std::string& path,
                        std::size_t& total) {
  std::string bytes;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kBlock);
    const la_ssize_t got = archive_read_data(reader, bytes.data() + before, kBlock);
    if (got < 0)
      refuse(file, path, fmt::format("the archive is cut or damaged here ({})", problem_of(reader)),
             kPackAgain);
    bytes.resize(before + static_cast<std::size_t>(got));
    if (got == 0) return bytes;
    total += static_cast<std::size_t>(got);
    if (bytes.size() > kMostInMember)
      refuse(file, path,
             fmt::format("unpacks to more than {} MiB, which nothing collected does",
                         kMostInMember >> 20),
             kUnpackBySelf);
    if (total > kMostInArchive)
      refuse(file, path,
             fmt::format("the archive unpacks to more than {} MiB, which nothing collected does",
                         kMostInArchive >> 20),
             kUnpackBySelf);
  }
}

std::vector<TarMember> members_of(::archive* reader, const std::string& file) {
  std::vector<TarMember> members;
  std::size_t total = 0;
  std::size_t entries = 0;
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(reader, &entry);
    if (status == ARCHIVE_EOF) return members;
    if (status < ARCHIVE_WARN)
      refuse(file, "", fmt::format("the archive is cut or damaged ({})", problem_of(reader)),
             kPackAgain);
    if (++entries > kMostMembers)
      refuse(file, "", fmt::format("holds more than {} files", kMostMembers), kUnpackBySelf);
    const char* name = archive_entry_pathname(entry);
    std::string path = name == nullptr ? "" : name;
    if (path.starts_with("./")) path.erase(0, 2);  // tar czf FILE ./FOLDER
    require_inside(path, file);
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr)
      refuse(file, path, "is a link, which scripts/collect.sh never packs", kUnpackBySelf);
    const auto type = archive_entry_filetype(entry);
    if (type == AE_IFDIR) continue;
    if (type != AE_IFREG)
      refuse(file, path, "is no ordinary file, and scripts/collect.sh packs no other",
             kUnpackBySelf);
    if (std::ranges::find(members, path, &TarMember::path) != members.end())
      refuse(file, path, "is in the archive twice", kPackAgain);
    members.push_back({path, contents_of(reader, file, path, total)});
  }
}

}  // namespace

bool is_tar(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  // One that was cut may have no header left to read.
  const std::string name = path.filename().string();
  if (name.ends_with(".tar.gz") || name.ends_with(".tgz")) return true;
  const TarReader reader = tar_reader();
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlock) != ARCHIVE_OK) return false;
  archive_entry* entry = nullptr;
  return archive_read_next_header(reader.get(), &entry) >= ARCHIVE_WARN;
}

std::vector<TarMember> read_tar(const std::filesystem::path& path) {
  note_input(path);
  const TarReader reader = tar_reader();
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlock) != ARCHIVE_OK)
    refuse(path.string(), "",
           fmt::format("the archive is cut or damaged ({})", problem_of(reader.get())), kPackAgain);
  return members_of(reader.get(), path.string());
}

std::vector<TarMember> read_tar(std::span<const unsigned char> bytes, const std::string& file) {
  const TarReader reader = tar_reader();
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK)
    refuse(file, "", fmt::format("the archive is cut or damaged ({})", problem_of(reader.get())),
           kPackAgain);
  return members_of(reader.get(), file);
}

}  // namespace ddpsim
