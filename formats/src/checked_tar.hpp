// A tar, looked over block by block before libarchive sees it: what its headers promise is counted, and what no archive
// of ours holds is refused, before anything is allocated for it.
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

/// Bytes of one extension header: a long name, or attributes of pax.
inline constexpr std::size_t kMostInExtension = std::size_t{64} << 10;
/// Extension headers before one member. libarchive reads each of them by a call inside the call for the one before.
inline constexpr std::size_t kMostExtensions = 4;

inline constexpr std::size_t kTarBlock = 512;

struct TarHeader {
  std::string name;  ///< as stored in this block, made safe to print
  char type = '0';
  /// Bytes that follow; absent if the field holds no plain octal number (what is larger than 8 GiB has none).
  std::optional<std::uint64_t> size;
};
/// Absent unless `block` has kTarBlock bytes and its checksum is that of a header.
std::optional<TarHeader> tar_header(std::string_view block);

class CheckedTar {
 public:
  /// `tar`: the uncompressed bytes; `file` names it in messages.
  CheckedTar(ByteSource tar, std::string file);

  /// The next bytes of the tar, valid until the next call; empty at its end. A member's header comes alone, so what
  /// `member_size` says is of the header that was read last. Throws InputError.
  std::span<const char> next();

  /// Bytes of the member whose header `next` gave last. libarchive must have understood the same.
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
  std::uint64_t left_ = 0;  ///< of the member's contents, padded to blocks
  std::uint64_t member_size_ = 0;
  std::uint64_t total_ = 0;     ///< bytes of all members and extension headers so far
  std::size_t members_ = 0;     ///< files and folders
  std::size_t extensions_ = 0;  ///< since the last member
  bool began_ = false;
  bool ended_ = false;
};

}  // namespace ddpsim
