#include "page.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "text_layout.hpp"

namespace ddpsim {

void Page::add(Weight weight, std::string text) {
  if (text.empty()) return;
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  sections_.push_back({weight, std::move(text), lines});
}

std::string Page::text(const TerminalStyle& style) const {
  std::vector<std::size_t> by_weight(sections_.size());
  std::iota(by_weight.begin(), by_weight.end(), std::size_t{0});
  std::ranges::stable_sort(by_weight, {}, [&](std::size_t i) { return sections_[i].weight; });
  std::size_t all = 0;
  for (const Section& section : sections_) all += section.lines;
  const bool limited = style.most_lines > 0 && all > style.most_lines;
  std::vector<bool> shown(sections_.size(), !limited);
  // One line is kept for the note that --verbose shows more.
  std::size_t left = limited ? style.most_lines - 1 : 0;
  for (const std::size_t i : by_weight) {
    if (!limited || (sections_[i].lines > left && sections_[i].weight != Weight::verdict)) continue;
    shown[i] = true;
    left -= std::min(left, sections_[i].lines);
  }
  std::string text;
  const std::string more = limited ? dim("More with --verbose", style) + '\n' : "";
  bool told = false;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (!shown[i]) continue;
    if (sections_[i].weight == Weight::next && !std::exchange(told, true)) text += more;
    text += sections_[i].text;
  }
  return told ? text : text + more;
}

}  // namespace ddpsim
