// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). It makes
// the same random bits on every machine and with every compiler, either from a counter or one after
// the other.
#pragma once

#include <cstdint>

namespace ddpsim {

/// Increment of the counter.
inline constexpr std::uint64_t kSplitMixGamma = 0x9e3779b97f4a7c15;

/// SplitMix64's finalizer: a bijection of 64 bits in which every input bit affects every output
/// bit.
constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

constexpr std::uint64_t next_random(std::uint64_t& state) {
  return mixed(state += kSplitMixGamma);
}

}  // namespace ddpsim
