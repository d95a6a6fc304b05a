// Reads a config.json. Keeps track of the values it states, the defaults of its class in
// transformers, and the fields that no reader asked for. A field is an error if it could change a
// model's parameters but no reader asked for it.
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

/// Another name for a field, which its class in transformers accepts too (attribute_map).
struct FieldAlias {
  std::string_view alias;
  std::string_view field;
};

class Config {
 public:
  /// `classes` is the beginning of this type's class names ("Llama").
  Config(Object root, std::string_view classes) : root_(root), classes_(classes) {}

  /// Marks this as a part of a model. The whole model's config names the class, and the part is
  /// built without its own head.
  void becomes_part() { is_part_ = true; }
  /// What is missing is known to be as in the class, so it is no assumption.
  void leaves_out_defaults() { leaves_out_defaults_ = true; }
  bool defaults_left_out() const { return leaves_out_defaults_; }
  /// If a field is missing, looks for its alias.
  void know(std::vector<FieldAlias> aliases) { aliases_ = std::move(aliases); }

  // With a default value, null is refused because the classes do not accept it.
  std::int64_t number(std::string_view key, std::int64_t usual, std::int64_t most);
  /// A number from 0 on.
  std::int64_t count(std::string_view key, std::int64_t usual, std::int64_t most);
  std::optional<std::int64_t> optional_number(std::string_view key, std::int64_t most);
  bool flag(std::string_view key, bool usual);
  /// A flag for which the class treats null as false.
  bool flag_or_null(std::string_view key, bool usual);
  double share(std::string_view key, double usual);
  std::optional<std::string> word(std::string_view key);
  std::string word(std::string_view key, std::string_view usual);
  std::optional<std::vector<std::int64_t>> numbers(std::string_view key, std::int64_t most);
  std::optional<std::vector<std::string>> words(std::string_view key);
  /// The kind of attention of each layer, if the file names it.
  std::optional<std::vector<std::string>> layer_types(std::int64_t layers);
  std::optional<Cursor> optional(std::string_view key);
  void refuse_null(std::string_view key, std::string_view usual);
  bool says_null(std::string_view key) { return null_of(key).has_value(); }
  /// Number of features per head that are rotated. Older files have another key for the share.
  std::int64_t rotated_features(std::int64_t head, std::string_view older_key, double usual);
  void assume(std::string_view key, std::string_view value);
  void assume_text(std::string text) { assumed_.push_back(std::move(text)); }
  void ignore(std::string key) { ignored_.push_back(std::move(key)); }
  void note(std::string text) { notes_.push_back(std::move(text)); }
  /// Reports a combination of two fields that is impossible.
  [[noreturn]] void refuse(std::string_view key, std::string message, Hint hint = {}) const;
  void require_multiple(std::string_view key, std::int64_t whole, std::string_view of,
                        std::int64_t parts) const;
  /// For a field that the class does not read: requires it to agree with what is built.
  void may_repeat(std::string_view key, std::int64_t built, std::string_view what);
  /// If the field is present, requires `value`. Another value means a model that ddpsim cannot
  /// build.
  void require_flag(std::string_view key, bool value, std::string_view why);

  /// Refuses an output layer with its own weight.
  void require_tied_words();

  /// Number of classes: num_labels, or the number of names in id2label.
  std::int64_t labels(std::int64_t usual = 2);
  /// For a question answering head, requires num_labels to be 2: the start and the end of the
  /// answer.
  void require_span_labels();
  /// The part after `classes` in "architectures": "ForCausalLM". Returns `usual` if the file names
  /// no architecture.
  std::string architecture(std::string_view usual, std::initializer_list<std::string_view> known);
  /// The head of a decoder. `module` is the name of its classifier.
  DecoderHead decoder_head(std::string_view module = "score");

  const Object& root() const { return root_; }
  std::vector<std::string> take_assumed() { return std::move(assumed_); }
  std::vector<std::string> take_notes() { return std::move(notes_); }
  /// Fields that no reader asked for. Throws InputError for a field that could change the
  /// parameters.
  std::vector<std::string> ignored();

 private:
  std::vector<std::string_view> names(std::string_view key) const;
  std::optional<Cursor> find(std::string_view key) const;
  std::optional<Cursor> null_of(std::string_view key);
  Object root_;
  std::string_view classes_;
  std::vector<FieldAlias> aliases_;
  bool is_part_ = false;
  bool leaves_out_defaults_ = false;
  std::vector<std::string> assumed_;
  std::vector<std::string> notes_;
  std::vector<std::string> ignored_;  ///< those of its parts
  std::set<std::string, std::less<>> asked_;
};

/// A part of a config.json, which must be present.
Config part_of(Config& whole, const char* key, std::string_view classes = "");
/// Adds what the part assumed, ignored and noted to that of the whole.
void finish_part(Config& whole, Config& part, const std::string& name);

struct DescribedModel {
  std::function<Model(const std::string& name, std::int64_t size, AttentionKernel attention)> build;
  std::int64_t usual_size = kUsualTokens;
  /// Fewer if positions are learned; 0: takes images.
  std::int64_t most_tokens = kMostTokens;
  AttentionKernel attention = AttentionKernel::sdpa;
  std::int64_t image_tokens = 0;  ///< tokens of a sequence that its image becomes
  /// Set if it is a decoder that a model of text and images can contain.
  std::optional<DecoderShape> decoder;
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
  std::string_view classes;  ///< beginning of their names
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
/// Decoders that occur only as a part of another model.
std::vector<ConfigFamily> part_families();
std::vector<ConfigFamily> speech_families();

}  // namespace ddpsim
