#include <algorithm>
#include <utility>

#include "messages.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kCountBytes = 4;
constexpr unsigned kByteBits = 8;
constexpr std::size_t kMostVerbBytes = 8;
constexpr std::size_t kShort = kMostKeyBytes + 64;  // a verb, a key and their counts
constexpr std::size_t kMostBody = kMostValueBytes + kShort;

struct Form {
  Speaker speaker;
  std::string_view verb;
  std::size_t fields;  ///< includes the verb
  std::size_t most_bytes;
};
constexpr Form kForms[] = {
    {Speaker::stranger, "hello", 7, kMostGreetingBytes},
    {Speaker::rank, "set", 3, kMostBody},
    {Speaker::rank, "get", 2, kShort},
    {Speaker::rank, "barrier", 2, kShort},
    {Speaker::rank, "time", 1, kShort},
    {Speaker::rank, "why", 1, kShort},
    {Speaker::rank, "end", 2, kMostReasonBytes + kShort},
    {Speaker::rank, "leave", 1, kShort},
    {Speaker::rank_0, "welcome", 1, kShort},
    {Speaker::rank_0, "ok", 2, kMostBody},
    {Speaker::rank_0, "ended", 2, kMostReasonBytes + kShort},
    {Speaker::rank_0, "refused", 2, kMostReasonBytes + kShort},
};

const Form* form_of(Speaker speaker, std::string_view verb) {
  const Form* found = std::ranges::find_if(
      kForms, [&](const Form& form) { return form.speaker == speaker && form.verb == verb; });
  return found == std::end(kForms) ? nullptr : found;
}

/// Most bytes of a message that this speaker may send.
std::size_t most_bytes_of(Speaker speaker) {
  std::size_t most = 0;
  for (const Form& form : kForms)
    if (form.speaker == speaker) most = std::max(most, form.most_bytes);
  return most;
}

void put_count(std::string& text, std::size_t count) {
  for (unsigned i = 0; i < kCountBytes; ++i)
    text.push_back(static_cast<char>(count >> (kByteBits * i)));
}

std::size_t count_at(std::string_view text) {
  std::size_t count = 0;
  for (unsigned i = 0; i < kCountBytes; ++i)
    count |= static_cast<std::size_t>(static_cast<unsigned char>(text[i])) << (kByteBits * i);
  return count;
}

std::optional<Message> fields_of(std::string_view body, std::size_t expected) {
  Message message;
  while (!body.empty()) {
    if (body.size() < kCountBytes || message.size() == expected) return std::nullopt;
    const std::size_t size = count_at(body);
    body.remove_prefix(kCountBytes);
    if (size > body.size()) return std::nullopt;
    message.emplace_back(body.substr(0, size));
    body.remove_prefix(size);
  }
  if (message.size() != expected) return std::nullopt;
  return message;
}

}  // namespace

std::size_t MessageDecoder::wants() const {
  if (state_ != State::incomplete) return 0;
  if (count_.size() < kCountBytes) return kCountBytes - count_.size();
  return announced_ - body_.size();
}

MessageDecoder::State MessageDecoder::take(std::string_view bytes) {
  bytes = bytes.substr(0, wants());
  if (bytes.empty()) return state_;
  if (count_.size() < kCountBytes) {
    count_ += bytes;
    if (count_.size() < kCountBytes) return state_;
    announced_ = count_at(count_);
    if (announced_ <= kCountBytes || announced_ > most_bytes_of(speaker_)) state_ = State::refused;
    return state_;
  }
  body_ += bytes;
  if (!verb_known_) judge_verb();
  if (state_ == State::incomplete && body_.size() == announced_) finish();
  return state_;
}

/// Checks the verb as soon as it has arrived. At that time, at most one read's worth of the message
/// has arrived.
void MessageDecoder::judge_verb() {
  if (body_.size() < kCountBytes) return;
  const std::string_view body = body_;
  const std::size_t size = count_at(body);
  if (size == 0 || size > kMostVerbBytes) {
    state_ = State::refused;
    return;
  }
  if (body.size() < kCountBytes + size) return;
  const Form* form = form_of(speaker_, body.substr(kCountBytes, size));
  verb_known_ = true;
  if (form == nullptr || announced_ > form->most_bytes) state_ = State::refused;
}

void MessageDecoder::finish() {
  const std::string_view body = body_;
  const Form* form =
      verb_known_ ? form_of(speaker_, body.substr(kCountBytes, count_at(body))) : nullptr;
  std::optional<Message> fields = form != nullptr ? fields_of(body, form->fields) : std::nullopt;
  const bool has_key = form != nullptr && (form->verb == "set" || form->verb == "get");
  if (!fields || (has_key && (*fields)[1].size() > kMostKeyBytes)) {
    state_ = State::refused;
    return;
  }
  message_ = std::move(*fields);
  body_ = {};  // frees the memory, which may be large
  state_ = State::complete;
}

Message MessageDecoder::take_message() {
  Message message = std::move(message_);
  *this = MessageDecoder(speaker_);
  return message;
}

std::string encoded(const Message& message) {
  std::size_t size = 0;
  for (const std::string& field : message) size += kCountBytes + field.size();
  std::string bytes;
  bytes.reserve(kCountBytes + size);
  put_count(bytes, size);
  for (const std::string& field : message) {
    put_count(bytes, field.size());
    bytes += field;
  }
  return bytes;
}

}  // namespace ddpsim
