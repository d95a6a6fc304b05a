// A model that ddpsim.estimate traced, ddpsim.model/1: the layers of any module, as PyTorch ran it once.
//
// All sizes are per sample, as in Layer, so that a trace of one batch serves every batch. Layers stand in the order forward
// ran them. A layer's parameters are those whose gradients its backward writes, in the order written, so the layers alone
// say in which order gradients become ready.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct ObjectType;

inline constexpr std::string_view kModelSchema = "ddpsim.model/1";

/// What a file may hold.
const ObjectType& model_document();

/// Whether `text` says that it is a document ddpsim.model of any version.
bool is_model_file(std::string_view text);

/// `file`: its path, for messages and the description's name. Throws InputError.
ModelDescription parse_model_file(std::string_view text, const std::string& file);

}  // namespace ddpsim
