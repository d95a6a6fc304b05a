// The words that describe a cluster in one line, such as "node:2 gpu:8xA100".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

enum class WordRole {
  general,
  joins_gpus,  ///< a node has exactly one of these
  network,     ///< describes a network, which must be there
};

/// One word "key:value".
struct LineWord {
  std::string_view key;
  std::string_view example;  ///< an example value: "300GBps"
  /// What the word means. For a word that joins GPUs, the name of the connection precedes a
  /// semicolon.
  std::string_view summary;
  WordRole role = WordRole::general;
  /// Whether it can also complete a cluster that a file or a name describes.
  bool beside_file = true;
};

/// All words, in the order in which a cluster is described.
std::span<const LineWord> line_words();
/// Keys of the words for which `test` is true.
std::vector<std::string> keys_of_words(bool (*test)(const LineWord& word));

}  // namespace ddpsim
