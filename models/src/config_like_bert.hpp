// Encoders built like BERT: their fields in a config.json, and the steps of their heads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config_fields.hpp"
#include "encoder.hpp"

namespace ddpsim {

using Step = HeadStep::Kind;

void add_steps(EncoderShape& shape, const std::vector<HeadStep>& steps);
HeadStep linear_step(const std::string& name, std::int64_t out, bool bias = true);
HeadStep activation_step(const std::string& name,
                         ActivationFunction function = ActivationFunction::gelu);
HeadStep dropout_step();

/// Adds a head with one answer per token, or with the start and the end of an answer. Returns false
/// for other heads.
bool token_head(Config& config, EncoderShape& shape, const std::string& head);

BertShape read_bert_shape(Config& config, std::int64_t hidden, std::int64_t layers,
                          std::int64_t heads, std::int64_t feed_forward, std::int64_t vocabulary);
DescribedModel as_described(const EncoderShape& shape, std::int64_t positions);

}  // namespace ddpsim
