#include "sweep_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "exit_code.hpp"
#include "printing.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(1);
constexpr auto kLongSilence = std::chrono::seconds(60);

/// Removes the first word and the blank or newline after it from `text`, and returns the word.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::size_t take_count(std::string_view& text) {
  return parse_number<std::size_t>(take_word(text)).value_or(0);
}

/// Writes each line of a message: "3 {…}\n" is the line of point 3.
void put_lines(std::string_view text, SweepDispatch& dispatch) {
  while (!text.empty()) {
    const std::size_t k = take_count(text);
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    dispatch.put(k, std::string(text.substr(0, end)));
    text.remove_prefix(end);
  }
}

}  // namespace

SweepRanks::SweepRanks(Ranks* ranks) : ranks_(ranks) {
  if (ranks_ != nullptr) others_.resize(static_cast<std::size_t>(ranks_->size()));
  if (any()) others_.front().gone = true;
}

SweepRanks::~SweepRanks() {
  if (!any()) return;
  for (int rank = 1; rank < ranks_->size(); ++rank) ranks_->send(rank, "end");
  while (!std::ranges::all_of(others_, &Rank::gone)) {
    const auto message = receive();
    if (message && message->text == "bye")
      others_[static_cast<std::size_t>(message->from)].gone = true;
  }
}

std::optional<RankMessage> SweepRanks::receive() {
  const Clock::time_point now = Clock::now();
  if (auto message = ranks_->receive()) {
    others_[static_cast<std::size_t>(message->from)].heard = now;
    return message;
  }
  for (std::size_t rank = 0; rank < others_.size(); ++rank) {
    if (others_[rank].gone || now - others_[rank].heard < kLongSilence) continue;
    // An MPI job in which a rank has died cannot end normally, so this must not throw.
    print_error(
        fmt::format("ddpsim: rank {} has been silent for {} s, so it or its host has died. Written "
                    "points are kept; run this command again to continue",
                    rank, std::chrono::seconds(kLongSilence).count()));
    ranks_->abort(kFailure);
  }
  std::this_thread::sleep_for(kMoment);
  return std::nullopt;
}

void SweepRanks::require_same(const std::string& header) {
  if (!any()) return;
  for (std::size_t missing = others_.size() - 1; missing > 0;) {
    const auto message = receive();
    if (!message) continue;
    std::string_view text = message->text;
    const std::string_view kind = take_word(text);
    if (kind == "lines") continue;  // a sign of life
    --missing;
    const std::string_view host = take_word(text);
    const std::string who = fmt::format("rank {} on {}", message->from, host);
    if (kind == "problem")
      throw InputError({.file = who, .where = "", .message = std::string(text), .hint = ""});
    if (text != header)
      throw InputError({.file = who,
                        .where = "",
                        .message = "runs another sweep than rank 0",
                        .hint = "All ranks need the same command line, ddpsim and files; to run a "
                                "shard each, add --no-mpi"});
  }
}

void SweepRanks::serve(SweepDispatch& dispatch) {
  while (!dispatch.over()) {
    const auto message = receive();
    if (!message) continue;
    std::string_view text = message->text;
    const std::string_view kind = take_word(text);
    if (kind == "failed")
      dispatch.end(std::make_exception_ptr(
          std::runtime_error(fmt::format("rank {}: {}", message->from, text))));
    if (kind != "lines") continue;
    const std::size_t wanted = take_count(text);
    put_lines(text, dispatch);
    if (wanted == 0) continue;
    // Portions shrink towards the end, so that all ranks finish at about the same time.
    const std::size_t fair = std::max<std::size_t>(1, dispatch.left() / (2 * others_.size()));
    const PointRange range = dispatch.take(std::min(wanted, fair));
    if (range.count > 0)
      ranks_->send(message->from, fmt::format("points {} {}", range.first, range.count));
  }
}

}  // namespace ddpsim
