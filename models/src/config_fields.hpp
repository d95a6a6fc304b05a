// A config.json while it is read: what it says, what its class in transformers takes where it says nothing, and what of it
// nobody asked for. A field that could change a model's parameters and that no reader asked for is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "model_dimensions.hpp"
#include "model_head.hpp"
#include "model_shape.hpp"

namespace ddpsim {

inline constexpr std::int64_t kUsualTokens = 2048;

/// Another name of a field, which its class in transformers takes, too (attribute_map).
struct FieldAlias {
  std::string_view alias;
  std::string_view field;
};

class Config {
 public:
  /// `classes`: how the names of this type's classes begin ("Llama").
  Config(Object root, std::string_view classes) : root_(root), classes_(classes) {}

  /// A part of a model: the whole has read which class is built, and the part is built without a head of its own.
  void becomes_part() { is_part_ = true; }
  /// Asked for a field, it finds what its alias says.
  void know(std::vector<FieldAlias> aliases) { aliases_ = std::move(aliases); }

  // Where a usual value is given, null is refused: classes take none.
  std::int64_t number(std::string_view key, std::int64_t usual, std::int64_t most);
  /// From 0 on.
  std::int64_t count(std::string_view key, std::int64_t usual, std::int64_t most);
  std::optional<std::int64_t> optional_number(std::string_view key, std::int64_t most);
  bool flag(std::string_view key, bool usual);
  /// Where the class takes null, it means false.
  bool flag_or_null(std::string_view key, bool usual);
  double share(std::string_view key, double usual);
  std::optional<std::string> word(std::string_view key);
  std::string word(std::string_view key, std::string_view usual);
  std::optional<std::vector<std::int64_t>> numbers(std::string_view key, std::int64_t most);
  std::optional<std::vector<std::string>> words(std::string_view key);
  /// Of each layer the kind of its attention, where the file names them.
  std::optional<std::vector<std::string>> layer_types(std::int64_t layers);
  std::optional<Cursor> optional(std::string_view key);
  void refuse_null(std::string_view key, std::string_view usual);
  bool says_null(std::string_view key) { return null_of(key).has_value(); }
  /// Of each head, the share that is rotated; older files name it apart.
  std::int64_t rotated_features(std::int64_t head, std::string_view older_key, double usual);
  void assume(std::string_view key, std::string_view value);
  void assume_text(std::string text) { assumed_.push_back(std::move(text)); }
  void ignore(std::string key) { ignored_.push_back(std::move(key)); }
  void note(std::string text) { notes_.push_back(std::move(text)); }
  /// What the two fields say together cannot be.
  [[noreturn]] void refuse(std::string_view key, std::string message, Hint hint = {}) const;
  void require_multiple(std::string_view key, std::int64_t whole, std::string_view of,
                        std::int64_t parts) const;
  /// The class does not read the field: it must say what is built all the same.
  void may_repeat(std::string_view key, std::int64_t built, std::string_view what);
  /// The field, where it is there, must say that: another value makes another model, which is not built here.
  void require_flag(std::string_view key, bool value, std::string_view why);

  /// An output layer with a weight of its own is refused.
  void require_tied_words();

  /// How many classes: num_labels, or as many as id2label names.
  std::int64_t labels(std::int64_t usual = 2);
  /// A head of num_labels outputs that finds where an answer begins and ends runs with two alone.
  void require_span_labels();
  /// What follows `classes` in "architectures": "ForCausalLM"; `usual` where that is not said.
  std::string architecture(std::string_view usual, std::initializer_list<std::string_view> known);
  /// The head of a decoder; `module`: of its token classes.
  DecoderHead decoder_head(std::string_view module = "score");

  const Object& root() const { return root_; }
  std::vector<std::string> take_assumed() { return std::move(assumed_); }
  std::vector<std::string> take_notes() { return std::move(notes_); }
  /// Fields that nobody asked for. Throws InputError for one that could change the parameters.
  std::vector<std::string> ignored();

 private:
  std::vector<std::string_view> names(std::string_view key) const;
  std::optional<Cursor> find(std::string_view key) const;
  std::optional<Cursor> null_of(std::string_view key);
  Object root_;
  std::string_view classes_;
  std::vector<FieldAlias> aliases_;
  bool is_part_ = false;
  std::vector<std::string> assumed_;
  std::vector<std::string> notes_;
  std::vector<std::string> ignored_;  ///< of its parts
  std::set<std::string, std::less<>> asked_;
};

/// Of a part of a config.json, which must be there.
Config part_of(Config& whole, const char* key, std::string_view classes = "");
/// What the part assumed, ignored and noted is the whole's, too.
void finish_part(Config& whole, Config& part, const std::string& name);

struct DescribedModel {
  std::function<Model(const std::string& name, std::int64_t size, AttentionKernel attention)> build;
  std::int64_t usual_size = kUsualTokens;
  std::int64_t most_tokens = kMostTokens;  ///< fewer where positions are learned; 0: images
  AttentionKernel attention = AttentionKernel::sdpa;
  std::int64_t image_tokens = 0;  ///< of a sequence, those that its image becomes
  std::optional<DecoderShape>
      decoder;  ///< where it is one that a model of text and images can hold
};

template <typename Shape>
DescribedModel described_as(const Shape& shape, std::int64_t usual_size,
                            std::int64_t most_tokens = kMostTokens,
                            AttentionKernel attention = AttentionKernel::sdpa) {
  DescribedModel described = {
      .build = [shape](const std::string& name, std::int64_t size,
                       AttentionKernel kernel) { return build_model(name, shape, size, kernel); },
      .usual_size = usual_size,
      .most_tokens = most_tokens,
      .attention = attention,
      .image_tokens = 0,
      .decoder = {}};
  if constexpr (std::is_same_v<Shape, DecoderShape>) described.decoder = shape;
  return described;
}

inline std::int64_t at_most_usual(std::int64_t tokens) {
  return tokens < kUsualTokens ? tokens : kUsualTokens;
}

struct ConfigFamily {
  std::string_view model_type;
  std::string_view classes;  ///< how their names begin
  DescribedModel (*read)(Config& config);
  std::vector<FieldAlias> aliases = {};
};

std::vector<ConfigFamily> decoder_families();
std::vector<ConfigFamily> older_decoder_families();
std::vector<ConfigFamily> encoder_families();
std::vector<ConfigFamily> newer_encoder_families();
std::vector<ConfigFamily> encoder_decoder_families();
std::vector<ConfigFamily> vision_families();
std::vector<ConfigFamily> text_image_families();
std::vector<ConfigFamily> vision_language_families();
/// Decoders that are a part of another model alone.
std::vector<ConfigFamily> part_families();
std::vector<ConfigFamily> speech_families();

}  // namespace ddpsim
