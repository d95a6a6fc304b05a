// Divides elements into kinds, such that all elements of a kind have equally many neighbours of each
// kind (folded_network.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ddpsim {

class Kinds {
 public:
  using Element = std::uint32_t;
  using Kind = std::uint32_t;

  /// `first` is by element: a number for each kind to begin with.
  explicit Kinds(const std::vector<Kind>& first);

  /// Splits until nothing is left to split. `affected` is by element: those that have it as a
  /// neighbour, each as often as it counts.
  void refine(const std::vector<std::vector<Element>>& affected);

  Kind of(Element element) const { return kind_[element]; }
  std::span<const Element> members(Kind kind) const {
    return std::span(members_).subspan(parts_[kind].first, parts_[kind].count);
  }
  std::size_t count() const { return parts_.size(); }

 private:
  struct Part {
    std::uint32_t first = 0;  ///< in members_
    std::uint32_t count = 0;
    /// Members at the front that have neighbours of the kind looked at.
    std::uint32_t counted = 0;
  };

  void count_neighbours(Kind kind, const std::vector<std::vector<Element>>& affected);
  void swap_to(Element element, std::uint32_t place);
  void split(Kind kind);
  void separate(std::uint32_t first, std::uint32_t end);

  std::vector<Element> members_;  ///< kind by kind
  std::vector<std::uint32_t> place_;
  std::vector<Kind> kind_;
  std::vector<Part> parts_;
  std::vector<Kind> waiting_;              ///< kinds whose neighbours must be counted
  std::vector<std::uint32_t> neighbours_;  ///< by element, in the kind looked at
  std::vector<Kind> touched_;
};

}  // namespace ddpsim
