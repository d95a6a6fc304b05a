#include "ddpsim/formats/digest.hpp"

#include <fmt/format.h>

namespace ddpsim {

void Digest::add(std::string_view part) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  const auto take = [&](std::uint64_t byte) { hash_ = (hash_ ^ byte) * kPrime; };
  constexpr int kBitsOfLength = 64;
  constexpr int kByte = 8;
  for (int bit = 0; bit < kBitsOfLength; bit += kByte)
    take((static_cast<std::uint64_t>(part.size()) >> bit) & 0xff);
  for (const char c : part) take(static_cast<unsigned char>(c));
}

std::string Digest::hex() const {
  return fmt::format("{:016x}", hash_);
}

}  // namespace ddpsim
