#include "checked_tar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "tar_members.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kTarPiece = std::size_t{64} << 10;

std::string_view field(std::string_view block, std::size_t at, std::size_t length) {
  const std::string_view text = block.substr(at, length);
  return text.substr(0, text.find('\0'));
}

/// Octal digits after blanks, ended by blanks or NULs.
std::optional<std::uint64_t> octal(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '7'; ++digits)
    value = value * 8 + static_cast<std::uint64_t>(text[digits] - '0');
  const std::string_view behind = text.substr(digits);
  if (behind.find_first_not_of(std::string_view(" \0", 2)) != std::string_view::npos)
    return std::nullopt;
  return value;
}

std::uint64_t padded(std::uint64_t size) {
  return (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

bool is_extension(char type) {
  return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

}  // namespace

std::optional<TarHeader> tar_header(std::string_view block) {
  constexpr std::size_t kName = 100, kSize = 124, kChecksum = 148, kType = 156, kPrefix = 345;
  if (block.size() != kTarBlock || block.front() == '\0') return std::nullopt;
  std::int64_t sum = 0;
  std::int64_t signed_sum = 0;  // old tars summed signed characters
  for (std::size_t k = 0; k < kTarBlock; ++k) {
    const bool blank = k >= kChecksum && k < kChecksum + 8;
    const char c = blank ? ' ' : block[k];
    sum += static_cast<unsigned char>(c);
    signed_sum += static_cast<signed char>(c);
  }
  const auto stated = octal(block.substr(kChecksum, 8));
  if (!stated || (static_cast<std::int64_t>(*stated) != sum &&
                  static_cast<std::int64_t>(*stated) != signed_sum))
    return std::nullopt;
  TarHeader header;
  const bool ustar = block.substr(257, 6) == std::string_view("ustar\0", 6);
  const std::string_view prefix = ustar ? field(block, kPrefix, 155) : "";
  header.name = legible(
      fmt::format("{}{}{}", prefix, prefix.empty() ? "" : "/", field(block, 0, kName)), 255);
  header.type = block[kType];
  header.size = octal(block.substr(kSize, 12));
  return header;
}

CheckedTar::CheckedTar(ByteSource tar, std::string file)
    : tar_(std::move(tar)), file_(std::move(file)) {}

void CheckedTar::refuse(const std::string& where, std::string message, Hint hint) const {
  throw InputError({file_, where, std::move(message), std::move(hint)});
}

/// Appends up to `count` bytes to `piece_` and returns them. Returns fewer at the end of the tar
/// file.
std::string_view CheckedTar::read(std::size_t count) {
  const std::size_t before = piece_.size();
  piece_.resize(before + count);
  std::size_t have = before;
  while (have < piece_.size()) {
    const std::size_t got = tar_(piece_.data() + have, piece_.size() - have);
    if (got == 0) break;
    have += got;
  }
  piece_.resize(have);
  return std::string_view(piece_).substr(before);
}

std::span<const char> CheckedTar::next() {
  piece_.clear();
  if (ended_) return {};
  if (left_ > 0) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, kTarPiece));
    ended_ = read(count).size() < count;  // libarchive reports that it was cut
    left_ -= count;
    return piece_;
  }
  const std::string_view block = read(kTarBlock);
  const bool first = !std::exchange(began_, true);
  if (first && is_gzip(block))
    refuse("", "is compressed twice, which scripts/collect.sh never does", kUnpackBySelf);
  if (block.size() < kTarBlock) {
    ended_ = true;
    return piece_;
  }
  if (block.find_first_not_of('\0') == std::string_view::npos) {
    // Two blocks of zeros end a tar file, whatever follows them.
    ended_ = true;
    piece_.resize(2 * kTarBlock, '\0');
    return piece_;
  }
  const std::optional<TarHeader> header = tar_header(block);
  if (!header)
    refuse("",
           first
               ? "is not a tar archive, or is damaged: it does not begin with the header of a file"
               : "the archive is cut or damaged: a file does not begin with a header",
           kPackAgain);
  if (is_extension(header->type))
    take_extension(*header);
  else
    take_member(*header);
  return piece_;
}

void CheckedTar::count(std::uint64_t bytes, const TarHeader& header) {
  total_ += bytes;
  if (total_ > kMostInArchive)
    refuse(header.name,
           fmt::format(
               "the archive unpacks to more than {} MiB, which is more than a job leaves behind",
               kMostInArchive >> 20),
           kUnpackBySelf);
}

void CheckedTar::take_extension(const TarHeader& header) {
  if (header.type == 'K')
    refuse(header.name, "holds a link, which scripts/collect.sh never packs", kUnpackBySelf);
  if (!header.size || *header.size > kMostInExtension)
    refuse(header.name,
           fmt::format("has a name or attributes of more than {} KiB", kMostInExtension >> 10),
           kUnpackBySelf);
  if (++extensions_ > kMostExtensions)
    refuse(header.name, fmt::format("has more than {} extension headers", kMostExtensions),
           kUnpackBySelf);
  count(*header.size, header);
  const auto size = static_cast<std::size_t>(*header.size);
  const std::string_view content = read(static_cast<std::size_t>(padded(size)));
  if (content.size() < size) refuse(header.name, "the archive is cut here", kPackAgain);
  if (header.type == 'x' || header.type == 'g') check_pax(content.substr(0, size), header);
}

/// Checks the records of a pax header, such as "30 mtime=1350244992.023960108\n". Refuses those
/// that change the meaning of what follows: the map of a sparse file, and a size that differs from
/// the header's.
void CheckedTar::check_pax(std::string_view records, const TarHeader& header) const {
  while (!records.empty()) {
    const std::size_t blank = records.find(' ');
    const auto length = parse_number<std::size_t>(records.substr(0, blank));
    if (blank == std::string_view::npos || !length || *length <= blank + 1 ||
        *length > records.size())
      refuse(header.name, "its attributes are damaged", kPackAgain);
    std::string_view key = records.substr(blank + 1, *length - blank - 1);
    key = key.substr(0, key.find('='));
    if (key.starts_with("GNU.sparse") || key == "SCHILY.realsize" || key == "SUN.holesdata")
      refuse(header.name, "is a sparse file, which scripts/collect.sh never packs", kUnpackBySelf);
    if (key == "size")
      refuse(header.name, "states its size twice, which only files of more than 8 GiB need",
             kUnpackBySelf);
    records.remove_prefix(*length);
  }
}

void CheckedTar::take_member(const TarHeader& header) {
  const char type = header.type;
  if (type == 'S')
    refuse(header.name, "is a sparse file, which scripts/collect.sh never packs", kUnpackBySelf);
  extensions_ = 0;
  if (++members_ > kMostMembers)
    refuse("", fmt::format("holds more than {} files", kMostMembers), kUnpackBySelf);
  const bool file = type == '0' || type == '\0' || type == '7';
  const bool empty = header.size == std::uint64_t{0};
  // Links, devices and folders have no contents. libarchive's reader reports them.
  if (!file && !(type >= '1' && type <= '6' && empty))
    refuse(header.name, "is not an ordinary file, and scripts/collect.sh packs only those",
           kUnpackBySelf);
  if (!header.size || *header.size > kMostInMember)
    refuse(header.name,
           fmt::format("unpacks to more than {} MiB, which is more than a job leaves behind",
                       kMostInMember >> 20),
           kUnpackBySelf);
  count(*header.size, header);
  member_size_ = *header.size;
  left_ = padded(member_size_);
}

bool is_tar(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  // A file that was cut may have no complete header, so its name decides.
  const std::string name = path.filename().string();
  if (name.ends_with(".tar.gz") || name.ends_with(".tgz")) return true;
  try {
    const Inflated bytes = inflated(file_source(path, Reading::glance), path.string());
    return tar_header(read_up_to(bytes.source, kTarBlock)).has_value();
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace ddpsim
