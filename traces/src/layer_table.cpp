#include "ddpsim/traces/layer_table.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kHeader = "layer,parameters,forward_us,backward_us";
constexpr std::size_t kMostLayers = 1'000'000;
constexpr double kLongestLayer = 1e12;  // microseconds: eleven days

struct TimedLayer {
  std::string name;
  std::int64_t elements = 0;
  Duration forward;
  Duration backward;
};

class TableReader {
 public:
  TableReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}
  std::vector<TimedLayer> read();

 private:
  [[noreturn]] void fail(std::string message, Hint hint = {}) const {
    throw InputError({file_, fmt::format("line {}", line_), std::move(message), std::move(hint)});
  }
  TimedLayer read_layer(std::string_view line) const;
  std::int64_t elements(std::string_view cell) const;
  Duration time(std::string_view cell, std::string_view column) const;

  std::string_view text_;
  std::string file_;
  std::size_t line_ = 0;
};

std::vector<TimedLayer> TableReader::read() {
  std::vector<TimedLayer> layers;
  std::unordered_map<std::string, std::size_t> line_of_name;
  std::int64_t bytes = 0;
  bool header_seen = false;
  while (!text_.empty()) {
    ++line_;
    const std::string_view line = trimmed(take_line(text_));
    if (line.empty()) continue;
    if (!header_seen) {
      std::string header;
      for (const std::string_view cell : cells_of(line)) {
        header += (header.empty() ? "" : ",") + std::string(cell);
      }
      if (header != kHeader) {
        fail(fmt::format("the header is {}", in_quotes(header)),
             fmt::format("Expected \"{}\"", kHeader));
      }
      header_seen = true;
      continue;
    }
    if (layers.size() == kMostLayers) fail(fmt::format("more than {} layers", kMostLayers));
    layers.push_back(read_layer(line));
    const auto [first, is_new] = line_of_name.emplace(layers.back().name, line_);
    if (!is_new) {
      fail(fmt::format("the layer {} is already on line {}", in_quotes(layers.back().name),
                       first->second),
           "Layer names are unique");
    }
    std::int64_t layer_bytes = 0;
    if (__builtin_mul_overflow(layers.back().elements, 4, &layer_bytes) ||
        __builtin_add_overflow(bytes, layer_bytes, &bytes)) {
      fail("the gradients up to here need more than 2^63 - 1 bytes");
    }
  }
  if (!header_seen) fail("the table is empty", fmt::format("Expected \"{}\"", kHeader));
  const bool any = std::any_of(layers.begin(), layers.end(),
                               [](const TimedLayer& layer) { return layer.elements > 0; });
  if (!any) fail("no layer has parameters", "DDP needs at least one parameter with a gradient");
  return layers;
}

TimedLayer TableReader::read_layer(std::string_view line) const {
  const std::vector<std::string_view> cells = cells_of(line);
  if (cells.size() != 4) {
    fail(fmt::format("{} cells", cells.size()), fmt::format("Expected four: {}", kHeader));
  }
  if (cells[0].empty()) fail("the layer has no name");
  if (!simdjson::validate_utf8(cells[0].data(), cells[0].size())) {
    fail(fmt::format("the layer name {} is not UTF-8", in_quotes(cells[0])));
  }
  return {std::string(cells[0]), elements(cells[1]), time(cells[2], "forward_us"),
          time(cells[3], "backward_us")};
}

std::int64_t TableReader::elements(std::string_view cell) const {
  const auto value = parse_number<std::int64_t>(cell);
  if (!value || *value < 0) {
    fail(fmt::format("parameters is {}", in_quotes(cell)),
         fmt::format("Expected the number of elements, an integer from 0 to {}",
                     std::numeric_limits<std::int64_t>::max()));
  }
  return *value;
}

Duration TableReader::time(std::string_view cell, std::string_view column) const {
  const auto value = parse_number<double>(cell);
  if (!value || !(*value >= 0 && *value <= kLongestLayer)) {
    fail(fmt::format("{} is {}", column, in_quotes(cell)),
         "Expected microseconds, a number from 0 to 1e12");
  }
  return Duration::microseconds(*value);
}

Duration total(const std::vector<TimedLayer>& layers, Duration TimedLayer::*part,
               const std::string& file) {
  Duration sum;
  for (const TimedLayer& layer : layers) {
    sum += layer.*part;
    if (sum > Duration::microseconds(kLongestLayer)) {
      throw InputError({file, "", "the layers together take longer than 1e12 microseconds", ""});
    }
  }
  return sum;
}

}  // namespace

Imported parse_layer_table(std::string_view text, const std::string& file) {
  const std::vector<TimedLayer> layers = TableReader(text, file).read();
  Imported result;
  Workload& workload = result.workload;
  workload.name = std::filesystem::path(file).stem().string();
  workload.forward = total(layers, &TimedLayer::forward, file);
  std::vector<std::size_t> parameter_of(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    parameter_of[i] = workload.parameters.size();
    if (layers[i].elements == 0) continue;
    Parameter parameter;
    parameter.name = layers[i].name;
    parameter.shape = std::vector<std::int64_t>{layers[i].elements};
    workload.parameters.push_back(std::move(parameter));
  }
  Backward backward;
  backward.duration = total(layers, &TimedLayer::backward, file);
  Duration at;
  for (std::size_t i = layers.size(); i-- > 0;) {
    at += layers[i].backward;
    if (layers[i].elements > 0) {
      backward.ready.push_back({.parameter = parameter_of[i], .at = at, .copied_at = {}});
    }
  }
  workload.backward = std::move(backward);
  workload.provenance.emplace_back("source", std::filesystem::path(file).filename().string());
  workload.provenance.emplace_back("kind", "layer table");
  result.recognised.push_back(fmt::format(
      "a layer table: {} layers, {} of them with parameters; each is one fp32 gradient, "
      "ready when its layer's backward ends",
      layers.size(), workload.parameters.size()));
  result.warnings.push_back(
      "a layer table holds no optimizer and no time between steps, so the step is only forward and "
      "backward");
  return result;
}

}  // namespace ddpsim
