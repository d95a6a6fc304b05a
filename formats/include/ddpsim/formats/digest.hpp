// Tells whether two inputs are the same. It protects against accidents, not against malice. FNV-1a,
// 64 bits (G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, draft-eastlake-fnv).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddpsim {

class Digest {
 public:
  /// Adds a part. Boundaries count: "ab", "c" differs from "a", "bc".
  void add(std::string_view part);
  std::string hex() const;

 private:
  static constexpr std::uint64_t kOffsetBasis = 0xcbf29ce484222325;
  std::uint64_t hash_ = kOffsetBasis;
};

}  // namespace ddpsim
