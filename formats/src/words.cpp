#include "ddpsim/formats/words.hpp"

#include <algorithm>
#include <cstddef>

namespace ddpsim {

Words words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  Words words;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const bool last = words.size() + 1 == kMostWords;
    const std::size_t end = last ? text.size() : std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

Words split(std::string_view text, char separator) {
  Words items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

}  // namespace ddpsim
