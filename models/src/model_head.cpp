#include "model_head.hpp"

#include <utility>

namespace ddpsim {

void run_decoder_head(ModuleRecorder& model, const DecoderHead& head, const WordHead& word_head) {
  Activation last = model.activation();
  switch (head.kind) {
    case HeadKind::none:
      return;
    case HeadKind::words:
      if (word_head.tied)
        model.tied_linear(word_head.words, word_head.bias ? "lm_head.bias" : "");
      else
        model.linear("lm_head", word_head.vocabulary, word_head.bias);
      break;
    case HeadKind::sequence:
      model.linear(head.module, head.labels, false);
      last.channels = head.labels;
      last.height = 1;
      model.continue_from(last);
      break;
    case HeadKind::tokens:
      model.dropout("dropout");
      model.linear(head.module, head.labels);
      break;
    case HeadKind::span:
      model.linear("qa_outputs", 2);
      break;
  }
  model.cross_entropy("loss");
}

Model finish_decoder(ModuleRecorder model, const DecoderHead& head, const WordHead& word_head,
                     const std::string& base) {
  run_decoder_head(model, head, word_head);
  Model whole = std::move(model).finish();
  if (head.kind == HeadKind::none) rename_base(whole, base, "");
  return whole;
}

void rename_base(Model& model, const std::string& base, const std::string& now) {
  const auto rename = [&](std::string& name) {
    if (name.starts_with(base)) name = now + name.substr(base.size());
  };
  for (Parameter& parameter : model.parameters) rename(parameter.name);
  for (Layer& layer : model.layers) rename(layer.name);
}

}  // namespace ddpsim
