// The head after a transformer's blocks, as the class in "architectures" names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "module_recorder.hpp"

namespace ddpsim {

enum class HeadKind {
  /// ForCausalLM, LMHeadModel: a product to the vocabulary, whose weight may be the embedding's.
  words,
  sequence,  ///< ForSequenceClassification: one answer per sequence
  tokens,    ///< ForTokenClassification: one answer per token
  span,      ///< ForQuestionAnswering: start and end of the answer
  none,      ///< Model
};

struct DecoderHead {
  HeadKind kind = HeadKind::words;
  std::int64_t labels = 2;
  std::string module;  ///< name of the classifier: "score", "classifier"
};

struct WordHead {
  std::size_t words = 0;  ///< the embedding, which `tied` reuses
  std::int64_t vocabulary = 0;
  bool tied = false;
  bool bias = false;
};

void run_decoder_head(ModuleRecorder& model, const DecoderHead& head, const WordHead& word_head);

/// Runs the head of a decoder whose modules begin with `base`, and completes the model. In a class
/// without a head, the modules have no prefix.
Model finish_decoder(ModuleRecorder model, const DecoderHead& head, const WordHead& word_head,
                     const std::string& base);

/// Replaces the prefix `base` of parameter names by `now`.
void rename_base(Model& model, const std::string& base, const std::string& now);

}  // namespace ddpsim
