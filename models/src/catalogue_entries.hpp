// What the catalogue holds: an entry for each name, by family. Each file of entries is one kind of
// source: classes for images, dimensions of decoders, published config.json files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model_shape.hpp"

namespace ddpsim {

inline constexpr std::int64_t kImageNetSide = 224;  // pixels

struct CatalogueEntry {
  std::string_view name;
  ModelShape shape;
  std::int64_t batch = 32;  ///< unless the user gives one
  /// Sample size, unless the user gives one. 0: that of the config.
  std::int64_t size = kImageNetSide;
  std::int64_t most_tokens = 0;  ///< 0: takes images
  AttentionKernel attention = AttentionKernel::eager;
  /// "config.json of Qwen/Qwen3-8B". What it names on Hugging Face is another name of the model.
  std::string_view source = {};
  /// Instead of a shape: the fields of its config.json that differ from its class.
  std::string_view config = {};
};

struct CatalogueFamily {
  std::string_view name;
  std::vector<CatalogueEntry> models;
};

std::vector<CatalogueFamily> image_catalogue();
std::vector<CatalogueFamily> text_catalogue();
std::vector<CatalogueFamily> config_catalogue();

}  // namespace ddpsim
