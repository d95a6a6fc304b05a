#include "gzip.hpp"

#include <zlib.h>

#include <array>
#include <cstdint>
#include <limits>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {

std::string gzip(std::string_view content) {
  constexpr int kGzipHeader = 16;
  constexpr int kMostMemory = 9;
  z_stream stream{};
  DDPSIM_ASSERT(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipHeader,
                             kMostMemory, Z_DEFAULT_STRATEGY) == Z_OK,
                "zlib refuses to begin");
  // zlib counts what it is given in 32 bits.
  constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max() / 2;
  std::string result;
  std::array<char, 1 << 16> out{};
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const std::string_view piece = content.substr(0, kMostAtOnce);
    content.remove_prefix(piece.size());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      status = deflate(&stream, content.empty() ? Z_FINISH : Z_NO_FLUSH);
      DDPSIM_ASSERT(status != Z_STREAM_ERROR, "zlib lost its state");
      result.append(out.data(), out.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return result;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr unsigned kBits = 6;
  constexpr std::uint32_t kMask = 63;
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (unsigned k = 0; k < 4; ++k)
      result += i + k > bytes.size() ? '=' : kAlphabet[group >> (kBits * (3 - k)) & kMask];
  }
  return result;
}

}  // namespace ddpsim
