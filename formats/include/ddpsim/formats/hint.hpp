// Suggestion that follows a description of what is wrong.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ddpsim {

/// A sentence that begins with a capital and has no full stop; empty if there is nothing to
/// suggest.
struct Hint {
  std::string text;
  /// For an unknown word: the known words that were probably meant.
  std::vector<std::string> meant = {};

  Hint() = default;
  Hint(std::string sentence) : text(std::move(sentence)) {}
  Hint(const char* sentence) : text(sentence) {}
  Hint(std::string sentence, std::vector<std::string> words)
      : text(std::move(sentence)), meant(std::move(words)) {}
  bool empty() const { return text.empty(); }
};

/// A problem whose place is not yet known.
struct Complaint {
  std::string message;
  Hint hint = {};
};

/// "message. hint"
std::string to_string(const Complaint& complaint);

}  // namespace ddpsim
