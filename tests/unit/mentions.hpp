// Whether a text, or one of several, says something.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace ddpsim {

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline bool mentions(const std::vector<std::string>& sentences, const std::string& part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& sentence) { return mentions(sentence, part); });
}

}  // namespace ddpsim
