// What would be right, behind what is wrong.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ddpsim {

/// A sentence that begins with a capital, without its full stop; empty where there is nothing to say.
struct Hint {
  std::string text;
  std::vector<std::string> meant =
      {};  ///< the known words that were probably meant, of a word that is none

  Hint() = default;
  Hint(std::string sentence) : text(std::move(sentence)) {}
  Hint(const char* sentence) : text(sentence) {}
  Hint(std::string sentence, std::vector<std::string> words)
      : text(std::move(sentence)), meant(std::move(words)) {}
  bool empty() const { return text.empty(); }
};

/// What is wrong, where the place is not yet known.
struct Complaint {
  std::string message;
  Hint hint = {};
};

/// "message. hint"
std::string to_string(const Complaint& complaint);

}  // namespace ddpsim
