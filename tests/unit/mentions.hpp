// Whether a text, or one of several, says something, and whether a list holds something.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace ddpsim {

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline bool mentions(const std::vector<std::string>& sentences, const std::string& part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& sentence) { return mentions(sentence, part); });
}

template <typename Value>
bool has(const std::vector<Value>& values, const std::type_identity_t<Value>& value) {
  return std::ranges::count(values, value) > 0;
}

}  // namespace ddpsim
