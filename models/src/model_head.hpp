// What stands behind a transformer's blocks, as the class in "architectures" says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "module_recorder.hpp"

namespace ddpsim {

enum class HeadKind {
  words,  ///< ForCausalLM, LMHeadModel: a product to the vocabulary, which may be the embedding's
  sequence,  ///< ForSequenceClassification: one answer for a sequence
  tokens,    ///< ForTokenClassification: one for each token
  span,      ///< ForQuestionAnswering: where the answer begins and ends
  none,      ///< Model
};

struct DecoderHead {
  HeadKind kind = HeadKind::words;
  std::int64_t labels = 2;
  std::string module;  ///< of the classes: "score", "classifier"
};

struct WordHead {
  std::size_t words = 0;  ///< the embedding, which `tied` uses again
  std::int64_t vocabulary = 0;
  bool tied = false;
  bool bias = false;
};

void run_decoder_head(ModuleRecorder& model, const DecoderHead& head, const WordHead& word_head);

/// Runs the head of a decoder whose modules begin with `base`, and ends the model. A class without a head has its modules
/// at the root.
Model finish_decoder(ModuleRecorder model, const DecoderHead& head, const WordHead& word_head,
                     const std::string& base);

/// Names that begin with `base` begin with `now` instead.
void rename_base(Model& model, const std::string& base, const std::string& now);

}  // namespace ddpsim
