// Models that no catalogue lists, by their dimensions: as text, or as Hugging Face's config.json.
//
//   llama:layers=32,hidden=4096[,heads=32][,kv_heads=8][,ffn=11008][,vocab=32000][,tied=true|false]
//
// Left out are: heads of 128 features; as many key heads; a feed-forward as Llama sizes it, two thirds of four times
// `hidden`, up to the next multiple of 256; 32000 words; an output layer of its own. What a config.json leaves out is
// what its class in transformers 5 takes. Either way the description names what was assumed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

/// Absent where the text is no dimensions ("gpt2"). Throws InputError, `complete` being what the user wrote.
std::optional<ModelDescription> model_of_dimensions(std::string_view text,
                                                    std::string_view complete);

/// The model that transformers makes of the config.json with that content; `file`: its path, for messages and the
/// description's name. Throws InputError.
ModelDescription model_of_config(std::string_view content, const std::string& file);

/// The values of "model_type" that model_of_config knows.
std::vector<std::string> config_model_types();

}  // namespace ddpsim
