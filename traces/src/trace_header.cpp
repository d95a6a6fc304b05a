#include "trace_header.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <vector>

namespace ddpsim {
namespace {

namespace dom = simdjson::dom;

/// A damaged header does not make a trace unusable. Its values stay unknown.
std::optional<dom::element> parsed(dom::parser& parser, std::string_view text) {
  dom::element element;
  if (text.empty() || parser.parse(text.data(), text.size()).get(element) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return element;
}

void read_devices(std::string_view text, std::optional<std::int64_t> device, TraceHeader& header) {
  dom::parser parser;
  const auto element = parsed(parser, text);
  dom::array devices;
  if (!element || element->get(devices) != simdjson::SUCCESS) return;
  for (const dom::element one : devices) {
    std::int64_t id = 0;
    std::string_view name;
    if (one["name"].get(name) != simdjson::SUCCESS) continue;
    const bool wanted = !device || (one["id"].get(id) == simdjson::SUCCESS && id == *device);
    if (wanted || header.gpu_full_name.empty()) header.gpu_full_name = name;
    if (wanted) return;
  }
}

void read_job(std::string_view text, TraceHeader& header) {
  dom::parser parser;
  const auto element = parsed(parser, text);
  if (!element) return;
  std::int64_t number = 0;
  if ((*element)["world_size"].get(number) == simdjson::SUCCESS && number > 0 &&
      number <= 1'000'000'000) {
    header.world_size = static_cast<int>(number);
  }
  if ((*element)["rank"].get(number) == simdjson::SUCCESS) header.rank = number;
  std::string_view word;
  if ((*element)["backend"].get(word) == simdjson::SUCCESS) header.backend = word;
  if ((*element)["nccl_version"].get(word) == simdjson::SUCCESS) header.nccl_version = word;
}

std::vector<std::string> name_words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == '-' || c == '_' || c == '(') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

TraceHeader read_trace_header(const JsonSplitter& splitter, std::optional<std::int64_t> device) {
  TraceHeader header;
  read_devices(splitter.member("deviceProperties"), device, header);
  read_job(splitter.member("distributedInfo"), header);
  return header;
}

TraceHeader job_in_head(std::string_view head) {
  TraceHeader header;
  const std::size_t key = head.find("\"distributedInfo\"");
  if (key == std::string_view::npos) return header;
  const std::size_t begin = head.find('{', key);
  if (begin == std::string_view::npos) return header;
  std::string_view job = head.substr(begin, head.find_first_of("[}", begin) - begin);
  const std::size_t end = begin + job.size();
  // What follows may be long ("pg_config": [...]), and the head may end in the middle of it.
  if (end >= head.size() || head[end] == '[') job = job.substr(0, job.rfind(','));
  read_job(std::string(job) + "}", header);
  return header;
}

std::string gpu_model_token(std::string_view full_name) {
  constexpr std::array<std::string_view, 9> kFamilies = {
      "NVIDIA", "Tesla", "GeForce", "Quadro", "RTX", "GTX", "AMD", "Instinct", "Graphics"};
  // With one of these words after it, the model name means another chip.
  constexpr std::array<std::string_view, 4> kVariants = {"Ti", "SUPER", "Laptop", "D"};
  const std::vector<std::string> words = name_words(full_name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::find(kFamilies.begin(), kFamilies.end(), words[i]) != kFamilies.end()) continue;
    const bool variant = i + 1 < words.size() && std::find(kVariants.begin(), kVariants.end(),
                                                           words[i + 1]) != kVariants.end();
    const bool slice = std::find(words.begin(), words.end(), "MIG") != words.end();
    return words[i] + (variant ? words[i + 1] : "") + (slice ? "MIG" : "");
  }
  return std::string(full_name);
}

}  // namespace ddpsim
