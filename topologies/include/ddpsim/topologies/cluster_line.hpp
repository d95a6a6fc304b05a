// The words of a cluster in one line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

enum class WordRole {
  general,
  joins_gpus,  ///< of these a node has one
  network,     ///< says something of a network, which must be there
};

/// A word "key:value".
struct LineWord {
  std::string_view key;
  std::string_view example;  ///< of its value: "300GBps"
  std::string_view
      summary;  ///< what it says; of what joins GPUs its name stands in front of a semicolon
  WordRole role = WordRole::general;
  bool beside_file = true;  ///< also completes a cluster that a file or a name describes
};

/// In the order in which a cluster is named by them.
std::span<const LineWord> line_words();
/// Keys of the words that such a test takes.
std::vector<std::string> keys_of_words(bool (*test)(const LineWord& word));

}  // namespace ddpsim
