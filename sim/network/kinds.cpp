#include "kinds.hpp"

#include <algorithm>
#include <numeric>

namespace ddpsim {

Kinds::Kinds(const std::vector<Kind>& first)
    : members_(first.size()), place_(first.size()), kind_(first), neighbours_(first.size(), 0) {
  for (const Kind kind : first) parts_.resize(std::max<std::size_t>(parts_.size(), kind + 1));
  for (const Kind kind : first) ++parts_[kind].count;
  for (std::size_t kind = 1; kind < parts_.size(); ++kind)
    parts_[kind].first = parts_[kind - 1].first + parts_[kind - 1].count;
  std::vector<std::uint32_t> next(parts_.size());
  for (Element element = 0; element < first.size(); ++element) {
    const Kind kind = first[element];
    place_[element] = parts_[kind].first + next[kind]++;
    members_[place_[element]] = element;
  }
  waiting_.resize(parts_.size());
  std::iota(waiting_.begin(), waiting_.end(), 0U);
}

void Kinds::refine(const std::vector<std::vector<Element>>& affected) {
  while (!waiting_.empty()) {
    const Kind kind = waiting_.back();
    waiting_.pop_back();
    count_neighbours(kind, affected);
    for (const Kind other : touched_) split(other);
  }
}

/// Moves elements with neighbours of this kind to the front of their own.
void Kinds::count_neighbours(Kind kind, const std::vector<std::vector<Element>>& affected) {
  touched_.clear();
  const std::vector<Element> looked_at(members(kind).begin(), members(kind).end());
  for (const Element neighbour : looked_at)
    for (const Element element : affected[neighbour]) {
      if (neighbours_[element]++ > 0) continue;
      Part& part = parts_[kind_[element]];
      if (part.counted == 0) touched_.push_back(kind_[element]);
      swap_to(element, part.first + part.counted++);
    }
}

void Kinds::swap_to(Element element, std::uint32_t place) {
  const Element other = members_[place];
  std::swap(members_[place], members_[place_[element]]);
  std::swap(place_[other], place_[element]);
}

/// The largest part keeps the number of the kind. All others are new and wait. So if the kind
/// itself waits, all parts do. If not, its neighbours have been counted, and those of the largest
/// part follow from the others'.
void Kinds::split(Kind kind) {
  Part& part = parts_[kind];
  const std::uint32_t begin = part.first;
  const std::uint32_t counted = begin + part.counted;
  const std::uint32_t end = begin + part.count;
  part.counted = 0;
  const auto at = [&](std::uint32_t place) {
    return members_.begin() + static_cast<std::ptrdiff_t>(place);
  };
  std::sort(at(begin), at(counted), [&](Element a, Element b) {
    return neighbours_[a] != neighbours_[b] ? neighbours_[a] < neighbours_[b] : a < b;
  });
  std::vector<std::uint32_t> cuts{begin};
  for (std::uint32_t place = begin; place < counted; ++place) {
    place_[members_[place]] = place;
    if (place > begin && neighbours_[members_[place]] != neighbours_[members_[place - 1]])
      cuts.push_back(place);
  }
  if (counted < end) cuts.push_back(counted);
  cuts.push_back(end);
  for (std::uint32_t place = begin; place < counted; ++place) neighbours_[members_[place]] = 0;
  std::size_t largest = 0;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
    if (cuts[i + 1] - cuts[i] > cuts[largest + 1] - cuts[largest]) largest = i;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    if (i == largest) {
      parts_[kind].first = cuts[i];
      parts_[kind].count = cuts[i + 1] - cuts[i];
    } else {
      separate(cuts[i], cuts[i + 1]);
    }
  }
}

/// These members become a kind of their own.
void Kinds::separate(std::uint32_t first, std::uint32_t end) {
  const auto fresh = static_cast<Kind>(parts_.size());
  parts_.push_back({first, end - first, 0});
  for (std::uint32_t place = first; place < end; ++place) kind_[members_[place]] = fresh;
  waiting_.push_back(fresh);
}

}  // namespace ddpsim
