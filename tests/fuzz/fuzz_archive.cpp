// Any bytes read as an archive give members with paths inside it, or an InputError. The same bytes
// are tried with correct checksums in the headers, because mutations alone do not find them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "ddpsim/formats/archive.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kSize = 124, kChecksum = 148;

/// The size in bytes of the contents after a header, rounded up to whole blocks.
std::size_t contents(const unsigned char* header) {
  std::size_t size = 0;
  for (std::size_t k = kSize; k < kSize + 12 && header[k] >= '0' && header[k] <= '7'; ++k)
    size = size * 8 + (header[k] - '0');
  return (size + kBlock - 1) / kBlock * kBlock;
}

std::vector<unsigned char> with_checksums(std::span<const unsigned char> tar) {
  std::vector<unsigned char> corrected(tar.begin(), tar.end());
  for (std::size_t at = 0; at + kBlock <= corrected.size();) {
    unsigned char* header = corrected.data() + at;
    if (header[0] == 0) break;
    std::memset(header + kChecksum, ' ', 8);
    unsigned sum = 0;
    for (std::size_t k = 0; k < kBlock; ++k) sum += header[k];
    for (std::size_t digit = 6; digit-- > 0; sum /= 8)
      header[kChecksum + digit] = static_cast<unsigned char>('0' + sum % 8);
    header[kChecksum + 6] = 0;
    at += kBlock + contents(header);
  }
  return corrected;
}

void read(std::span<const unsigned char> bytes) {
  try {
    const ddpsim::Archive archive = ddpsim::parse_archive(bytes, "fuzz");
    for (const ddpsim::ArchiveMember& member : archive.members)
      if (member.path.empty() || member.path.front() == '/' ||
          member.path.find("../") != std::string::npos ||
          (member.rank && *member.rank >= archive.ranks))
        std::abort();
  } catch (const ddpsim::InputError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read(std::span(data, size));
  read(with_checksums(std::span(data, size)));
  return 0;
}
