// A tar as `tar --format=ustar` writes it, made of texts: archives for the reader's tests, good ones and bad ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ddpsim::test {

constexpr std::size_t kTarBlock = 512;

/// One entry. `type`: '0' a file, '2' a symbolic link, '1' a hard one, '3' a device, '5' a folder. `size`: as the header
/// says, whatever follows.
inline std::string tar_entry(std::string_view path, std::string_view content, char type = '0',
                             std::string_view link = "", std::size_t size = std::string::npos) {
  std::string header(kTarBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) {
    text.copy(&header[at], text.size());
  };
  const auto octal = [](std::size_t value, int digits) {
    std::string text(static_cast<std::size_t>(digits), '0');
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value /= 8)
      *digit = static_cast<char>('0' + value % 8);
    return text;
  };
  put(0, path);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, octal(size == std::string::npos ? content.size() : size, 11));
  put(136, "00000000000");
  put(148, "        ");
  header[156] = type;
  put(157, link);
  put(257, std::string_view("ustar\00000", 8));
  std::size_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6));
  header[154] = '\0';
  std::string entry = header + std::string(content);
  entry.resize((entry.size() + kTarBlock - 1) / kTarBlock * kTarBlock, '\0');
  return entry;
}

inline std::string tar_end() {
  return std::string(2 * kTarBlock, '\0');
}

inline std::span<const unsigned char> bytes_of(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

}  // namespace ddpsim::test
