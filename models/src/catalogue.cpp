#include "ddpsim/models/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <utility>

#include "catalogue_entries.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/models/model_config.hpp"

namespace ddpsim {
namespace {

/// All families in the order in which `list` shows them. A new model is one line in one of the
/// files of entries, and at most one new file for its shape.
const std::vector<CatalogueFamily>& families() {
  static const std::vector<CatalogueFamily> all = [] {
    std::vector<CatalogueFamily> joined = image_catalogue();
    for (const auto& more : {text_catalogue(), config_catalogue()})
      joined.insert(joined.end(), more.begin(), more.end());
    return joined;
  }();
  return all;
}

/// Other names of the same models.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"llama-7b", "llama2-7b"},
    {"llama-13b", "llama2-13b"},
    {"llama3.1-8b", "llama3-8b"},
    {"llama3.1-70b", "llama3-70b"},
    {"llama3.1-405b", "llama3-405b"},
    {"llama3.3-70b", "llama3-70b"},
    {"sd1.5", "unet-sd1.5"},
    {"stable-diffusion-1.5", "unet-sd1.5"},
    {"sdxl", "unet-sdxl"}};

/// One spelling of names that people write in several: "ResNet-50", "vit-b-16", "Llama-3.1-8B". Case
/// does not count, '_' is '-', and a '-' between a letter and a digit is left out.
std::string spelling_of(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string spelt;
  for (std::size_t k = 0; k < name.size(); ++k) {
    const bool joins = name[k] == '-' || name[k] == '_';
    const bool before_digit =
        k + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[k + 1])) != 0;
    if (joins && before_digit && !spelt.empty() && is_letter(spelt.back())) continue;
    spelt += joins ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(name[k])));
  }
  return spelt;
}

/// The name on Hugging Face of the model that the dimensions are from; empty if they are not.
std::string_view hub_name_of(const CatalogueEntry& entry) {
  constexpr std::string_view kBefore = "config.json of ";
  const std::size_t at = entry.source.find(kBefore);
  if (at == std::string_view::npos) return {};
  const std::string_view name = entry.source.substr(at + kBefore.size());
  return name.find_first_of(" *") == std::string_view::npos ? name : std::string_view();
}

const CatalogueEntry* find_entry(std::string_view name) {
  if (name.empty()) return nullptr;
  const std::string spelt = spelling_of(name);
  std::string wanted = spelt;
  for (const auto& [other, known] : kOtherNames)
    if (spelt == spelling_of(other)) wanted = spelling_of(known);
  for (const CatalogueFamily& family : families())
    for (const CatalogueEntry& entry : family.models)
      if (spelling_of(entry.name) == wanted || spelling_of(hub_name_of(entry)) == wanted)
        return &entry;
  return nullptr;
}

/// What a config.json describes, under the entry's name.
ModelDescription described_by_config(const CatalogueEntry& entry) {
  const std::string name(entry.name);
  ModelDescription description = model_of_config(entry.config, name, ConfigOrigin::catalogue);
  description.usual_batch = entry.batch;
  if (entry.size > 0) description.usual_size = entry.size;
  return description;
}

}  // namespace

ModelDescription described(std::string name, const ModelShape& shape, const UsualSamples& samples,
                           AttentionKernel attention) {
  ModelDescription description;
  description.name = name;
  description.sample = samples.most_tokens > 0 ? SampleKind::sequence : SampleKind::image;
  description.usual_size = samples.size;
  description.usual_batch = samples.batch;
  description.most_tokens = samples.most_tokens;
  description.attention = attention;
  description.build = [name = std::move(name), shape](std::int64_t size, AttentionKernel kernel) {
    return std::visit(
        [&](const auto& one) {
          if constexpr (requires { build_model(name, one, size, kernel); })
            return build_model(name, one, size, kernel);
          else
            return build_model(name, one, size);
        },
        shape);
  };
  return description;
}

Model build_model(const ModelDescription& description, std::optional<std::int64_t> tokens,
                  std::optional<AttentionKernel> attention) {
  const std::int64_t size = tokens.value_or(description.usual_size);
  Model model = description.build(size, attention.value_or(description.attention));
  model.sample = description.sample;
  model.sample_size = size;
  model.default_batch = description.usual_batch;
  return model;
}

std::string source_of(const Model& model) {
  std::string text = "bundled model " + model.name;
  if (!model.buffers_as_in.empty()) text += ", buffers as in " + model.buffers_as_in;
  return text;
}

std::string_view name_of(AttentionKernel kernel) {
  return kernel == AttentionKernel::eager ? "eager" : "sdpa";
}

std::optional<ModelDescription> describe_model(std::string_view name) {
  const CatalogueEntry* entry = find_entry(name);
  if (entry == nullptr) return std::nullopt;
  ModelDescription description =
      entry->config.empty()
          ? described(
                std::string(entry->name), entry->shape,
                {.batch = entry->batch, .size = entry->size, .most_tokens = entry->most_tokens},
                entry->attention)
          : described_by_config(*entry);
  description.source = entry->source;
  return description;
}

std::optional<Model> find_model(std::string_view name) {
  const std::optional<ModelDescription> description = describe_model(name);
  if (!description) return std::nullopt;
  return build_model(*description, std::nullopt, std::nullopt);
}

std::optional<Model> find_model(std::string_view name, std::int64_t tokens) {
  const std::optional<ModelDescription> description = describe_model(name);
  if (!description || tokens < 1 || tokens > description->most_tokens) return std::nullopt;
  return build_model(*description, tokens, std::nullopt);
}

std::optional<std::int64_t> most_tokens(std::string_view name) {
  const std::optional<ModelDescription> description = describe_model(name);
  if (!description || description->most_tokens == 0) return std::nullopt;
  return description->most_tokens;
}

std::vector<ModelFamily> model_families() {
  std::vector<ModelFamily> named;
  for (const CatalogueFamily& family : families()) {
    named.push_back({.name = family.name, .models = {}});
    for (const CatalogueEntry& entry : family.models) named.back().models.emplace_back(entry.name);
  }
  return named;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelFamily& family : model_families())
    names.insert(names.end(), family.models.begin(), family.models.end());
  return names;
}

Hint models_instead_of(std::string_view name) {
  const std::string spelt = spelling_of(name.substr(name.rfind('/') + 1));
  std::vector<std::string> names = model_names();
  // "bert-base-uncased", "meta-llama/Llama-3.1-8B-Instruct": a checkpoint of a model.
  std::string begins;
  std::size_t longest = 0;
  const auto compare = [&](std::string_view other, const std::string& known) {
    const std::string start = spelling_of(other);
    if ((spelt + "-").starts_with(start + "-") && start.size() > longest) {
      begins = known;
      longest = start.size();
    }
  };
  for (const std::string& known : names) compare(known, known);
  for (const auto& [other, known] : kOtherNames) compare(other, std::string(known));
  std::vector<std::string> alike;
  for (const std::string& known : names)
    if (!spelt.empty() && spelling_of(known).starts_with(spelt)) alike.push_back(known);
  if (begins.empty() && alike.size() == 1) begins = alike.front();
  if (!begins.empty()) return {fmt::format("Did you mean \"{}\"?", begins), {begins}};
  if (!alike.empty()) return {fmt::format("Known: {}", fmt::join(alike, ", ")), alike};
  for (const auto& [other, known] : kOtherNames) names.emplace_back(other);
  return did_you_mean(spelt, names,
                      "`ddpsim list` shows the models. For others, give their config.json of "
                      "Hugging Face, or trace your module with ddpsim.estimate");
}

const std::vector<Model>& bundled_models() {
  static const std::vector<Model> models = [] {
    std::vector<Model> built;
    for (const std::string& name : model_names()) built.push_back(find_model(name).value());
    return built;
  }();
  return models;
}

}  // namespace ddpsim
