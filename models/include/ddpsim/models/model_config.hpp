// Models outside the catalogue, described by their dimensions: as text, or as a config.json of
// Hugging Face.
//
//   llama:layers=32,hidden=4096[,heads=32][,kv_heads=8][,ffn=11008][,vocab=32000][,tied=true|false]
//
// Defaults of the text: each head has 128 features, and there are as many key heads as heads. The
// feed-forward is as wide as Llama's: two thirds of four times `hidden`, rounded up to a multiple
// of 256. The vocabulary has 32000 words and the output layer is not tied. A config.json has the
// defaults of its class in transformers 5. The description lists what was assumed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

/// Parses dimensions. Absent if the text holds none ("gpt2"). Throws InputError. `complete` is what
/// the user wrote.
std::optional<ModelDescription> model_of_dimensions(std::string_view text,
                                                    std::string_view complete);

enum class ConfigOrigin {
  file,  ///< what the user gave; missing fields are assumed
  /// Missing fields are known to be as in the class.
  catalogue,
};

/// Builds the model that transformers makes of a config.json. `file` is its path, used in messages
/// and in the description's name. Throws InputError.
ModelDescription model_of_config(std::string_view content, const std::string& file,
                                 ConfigOrigin origin = ConfigOrigin::file);

/// The values of "model_type" that `model_of_config` accepts.
std::vector<std::string> config_model_types();

}  // namespace ddpsim
