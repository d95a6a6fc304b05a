// Checks a tar file block by block before libarchive sees it. It counts what the headers announce,
// and refuses what none of our archives contain, before any memory is allocated for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/formats/hint.hpp"

namespace ddpsim {

/// Most bytes of one extension header: a long name, or pax attributes.
inline constexpr std::size_t kMostInExtension = std::size_t{64} << 10;
/// Most extension headers before one member. libarchive reads each of them in a nested call.
inline constexpr std::size_t kMostExtensions = 4;

inline constexpr std::size_t kTarBlock = 512;

struct TarHeader {
  std::string name;  ///< as stored in this block, safe to print
  char type = '0';
  /// Bytes that follow. Absent if the field is not a plain octal number, which is the case above 8
  /// GiB.
  std::optional<std::uint64_t> size;
};
/// Absent unless `block` has kTarBlock bytes and the checksum of a header.
std::optional<TarHeader> tar_header(std::string_view block);

class CheckedTar {
 public:
  /// `tar` yields the uncompressed bytes; `file` is their name in messages.
  CheckedTar(ByteSource tar, std::string file);

  /// The next bytes of the tar file, valid until the next call; empty at its end. A member's header
  /// comes alone, and `member_size` then refers to it. Throws InputError.
  std::span<const char> next();

  /// Bytes of the member whose header `next` returned last. libarchive must report the same size.
  std::uint64_t member_size() const { return member_size_; }

 private:
  [[noreturn]] void refuse(const std::string& where, std::string message, Hint hint) const;
  std::string_view read(std::size_t count);
  void check_first(std::string_view block) const;
  void take_extension(const TarHeader& header);
  void check_pax(std::string_view records, const TarHeader& header) const;
  void take_member(const TarHeader& header);
  void count(std::uint64_t bytes, const TarHeader& header);

  ByteSource tar_;
  std::string file_;
  std::string piece_;
  std::uint64_t left_ = 0;  ///< rest of the member's contents, padded to blocks
  std::uint64_t member_size_ = 0;
  std::uint64_t total_ = 0;     ///< all members and extension headers so far
  std::size_t members_ = 0;     ///< files and folders
  std::size_t extensions_ = 0;  ///< since the last member
  bool began_ = false;
  bool ended_ = false;
};

}  // namespace ddpsim
