// Programs that connect to a job's store without being one of its ranks end no job and cost almost
// nothing.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <future>
#include <iterator>
#include <string>
#include <vector>

#include "job_state.hpp"
#include "job_token.hpp"
#include "messages.hpp"
#include "patience.hpp"
#include "store.hpp"

using namespace ddpsim;
using ddpsim::testing::patient;
using namespace std::chrono_literals;

namespace {

const auto kPatience = patient(30s);  // longer than any wait

int connected_to(std::uint16_t port) {
  const int tried = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(tried, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  return tried;
}

void say(int socket, const std::string& bytes) {
  (void)!send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// All that the other side sends before it hangs up.
std::string all_from(int socket) {
  std::string text;
  char piece[512];
  for (ssize_t size = 0; (size = recv(socket, piece, sizeof piece, 0)) > 0;)
    text.append(piece, static_cast<std::size_t>(size));
  return text;
}

std::string count_of(std::uint32_t count) {
  return {reinterpret_cast<const char*>(&count), sizeof count};
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(
      std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator{}));
}

Greeting greeting_with(int rank, const std::string& token, int ranks = 2) {
  return {.rank = rank, .ranks = ranks, .version = "1", .job = "a", .token = token};
}

Message hello_of(const std::string& token, const std::string& rank = "1") {
  return {"hello", std::string(kStoreMagic), token, rank, "2", "1", "a"};
}

struct Job {
  Listening listening = listen_on("127.0.0.1", 0);
  StoreServer server;
  explicit Job(const std::string& token) : server(listening, 2, kPatience, token) {}

  /// Both ranks meet, pass a value and leave. Returns the error, or nothing.
  std::string runs(const std::string& token) {
    auto other = std::async(std::launch::async, [&] { return rank(1, token); });
    const std::string first = rank(0, token);
    const std::string second = other.get();
    return first.empty() ? second : first;
  }
  std::string rank(int number, const std::string& token) {
    try {
      StoreClient client("127.0.0.1", listening.port, greeting_with(number, token), kPatience);
      if (number == 0) client.set("key", "value");
      if (client.get("key") != "value") return "another value";
      client.barrier("all");
      client.leave();
      return "";
    } catch (const JobEnded& ended) {
      return ended.what();
    }
  }
};

}  // namespace

TEST_CASE(
    "real strangers: a wrong token is reported and ends nothing, and later messages are ignored") {
  Job job("secret");
  const int impostor = connected_to(job.listening.port);
  say(impostor, encoded(hello_of("secreT")) + encoded({"end", "the impostor says so"}));
  CHECK(all_from(impostor).find("another job") != std::string::npos);
  const int silent = connected_to(job.listening.port);
  say(silent, encoded({"end", "nobody asked"}));  // a command before the greeting
  CHECK(all_from(silent).empty());
  CHECK(job.runs("secret") == "");
  close(impostor);
  close(silent);
}

TEST_CASE(
    "real strangers: a rank with a wrong token hears so at once, and rank 0 reports it when it is "
    "missing") {
  const Listening listening = listen_on("127.0.0.1", 0);
  const auto timeout = patient(2s);
  const StoreServer server(listening, 2, timeout, "mine");
  CHECK_THROWS_WITH_AS(
      StoreClient("127.0.0.1", listening.port, greeting_with(1, "mind"), kPatience),
      "rank 0 belongs to another job: give every rank the same DDPSIM_JOB_TOKEN", JobEnded);
  CHECK_THROWS_WITH_AS(
      StoreClient("127.0.0.1", listening.port, greeting_with(0, "mine"), kPatience),
      fmt::format("after {} s 1 of 2 ranks were there; missing: 1; 1 came with another "
                  "DDPSIM_JOB_TOKEN",
                  timeout.count())
          .c_str(),
      JobEnded);
}

TEST_CASE(
    "real strangers: invalid, cut and unbounded messages are disconnected before they cost "
    "anything") {
  Job job("");
  const std::string whole = encoded(hello_of(""));
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\x16\x03\x01\x02\x00", 5),
        count_of(0xffffffffU), count_of(kMostGreetingBytes + 1), count_of(0), count_of(4),
        count_of(12) + count_of(8) + "shutdown", count_of(5) + count_of(0xffffU) + "x",
        encoded({"hello", "another-program/1", "", "1", "2", "1", "a"}), encoded({"set", "a", "b"}),
        encoded({"hello"})}) {
    const int stranger = connected_to(job.listening.port);
    say(stranger, bytes);
    CHECK(all_from(stranger).empty());
    close(stranger);
  }
  const int cut = connected_to(job.listening.port);
  say(cut, whole.substr(0, whole.size() - 1));
  close(cut);
  CHECK(job.runs("") == "");
}

TEST_CASE("real strangers: thousands of silent connections exclude no rank and are closed") {
  Job job("secret");
  const std::size_t before = open_descriptors();
  std::vector<int> silent;
  for (int i = 0; i < 400; ++i) silent.push_back(connected_to(job.listening.port));
  CHECK(job.runs("secret") == "");
  // This process holds both ends. The store's ends are at most its places for unknown connections.
  CHECK(open_descriptors() < before + silent.size() + 70);
  for (const int one : silent) close(one);
  for (int i = 0; i < 2000; ++i) close(connected_to(job.listening.port));
}

TEST_CASE("real strangers: a silent connection is closed even if no other comes") {
  Job job("");
  const int silent = connected_to(job.listening.port);
  CHECK(all_from(silent).empty());  // returns when the store hangs up
  close(silent);
}

TEST_CASE("real strangers: a repeated rank is harmless once all ranks are there") {
  const Listening listening = listen_on("127.0.0.1", 0);
  const StoreServer server(listening, 1, kPatience);
  StoreClient client("127.0.0.1", listening.port, greeting_with(0, "", 1), kPatience);
  CHECK_THROWS_WITH_AS(StoreClient("127.0.0.1", listening.port, greeting_with(0, "", 1), kPatience),
                       "two processes call themselves rank 0", JobEnded);
  client.set("still", "here");
  CHECK(client.get("still") == "here");
  client.leave();
}

TEST_CASE("real strangers: a rank's reason is one bounded line without control characters") {
  JobState job(2, "");
  job.end("rank 1: \x1b]0;owned\x07\x1b[2J" + std::string(10'000, 'x') + "\nsecond line");
  CHECK(job.reason().starts_with("rank 1: ?]0;owned??[2Jxxx"));
  CHECK(job.reason().size() < kMostReasonBytes);
  CHECK(job.reason().find('\n') == std::string::npos);
  CHECK(printable_reason("first\nsecond") == "first");
  CHECK(printable_reason("\xc2\x9b"
                         "31m") == "?31m");  // CSI as a single character

  const Listening listening = listen_on("127.0.0.1", 0);
  const StoreServer server(listening, 1, kPatience);
  StoreClient client("127.0.0.1", listening.port, greeting_with(0, "", 1), kPatience);
  client.end_job("rank 0: \x1b[31m" + std::string(100'000, 'y'));
  const std::string heard = client.why_ended();
  CHECK(heard.starts_with("rank 0: ?[31myyy"));
  CHECK(heard.size() < kMostReasonBytes);
}

TEST_CASE("real strangers: stored values are bounded in number and bytes") {
  const JobState::Limits limits{.keys = 3, .bytes = 1000};
  const std::string all = "rank 1 stores more than rank 0 can hold: lower --iterations";
  JobState many(2, "", limits);
  for (const char* key : {"a", "b", "c"}) many.set(1, key, "");
  CHECK_FALSE(many.ended());
  many.set(1, "d", "");
  CHECK(many.reason() == all);

  JobState large(2, "", limits);
  // overwrites the same key
  for (int i = 0; i < 10; ++i) large.set(1, "key", std::string(400, 'x'));
  large.set(1, "two", std::string(600, 'x'));
  CHECK_FALSE(large.ended());
  large.set(1, "three", "x");
  CHECK(large.reason() == all);
  CHECK(large.find("three") == nullptr);
}

TEST_CASE(
    "real strangers: a random token has 128 bits and is unique; tokens are compared as a whole") {
  const std::string token = random_token();
  CHECK(token.size() == 32);
  CHECK(token != random_token());
  CHECK(same_token(token, token));
  CHECK(same_token("", ""));
  CHECK_FALSE(same_token(token, token.substr(1)));
  CHECK_FALSE(same_token("abc", "abd"));
  CHECK_FALSE(same_token("abc", "bbc"));
}

TEST_CASE("real strangers: a message may arrive byte by byte") {
  const std::string bytes = encoded({"set", "key", std::string("a\0b", 3)});
  MessageDecoder decoder(Speaker::rank);
  for (const char byte : bytes) {
    REQUIRE(decoder.state() == MessageDecoder::State::incomplete);
    REQUIRE(decoder.wants() > 0);
    decoder.take({&byte, 1});
  }
  REQUIRE(decoder.state() == MessageDecoder::State::complete);
  CHECK(decoder.take_message() == Message{"set", "key", std::string("a\0b", 3)});
  CHECK(decoder.state() == MessageDecoder::State::incomplete);
  CHECK(decoder.wants() == 4);
}

TEST_CASE("real strangers: each command has a length and a permitted sender") {
  const auto state_of = [](Speaker speaker, const std::string& bytes) {
    MessageDecoder decoder(speaker);
    std::string_view left = bytes;
    while (!left.empty() && decoder.wants() > 0) {
      const std::size_t size = std::min(left.size(), decoder.wants());
      decoder.take(left.substr(0, size));
      left.remove_prefix(size);
    }
    return decoder.state();
  };
  using State = MessageDecoder::State;
  CHECK(state_of(Speaker::rank, encoded({"set", "k", std::string(1 << 20, 'x')})) ==
        State::complete);
  CHECK(state_of(Speaker::rank, encoded({"end", std::string(1 << 20, 'x')})) == State::refused);
  CHECK(state_of(Speaker::rank, encoded({"get", std::string(kMostKeyBytes, 'k')})) ==
        State::complete);
  CHECK(state_of(Speaker::rank, encoded({"get", std::string(kMostKeyBytes + 1, 'k')})) ==
        State::refused);
  CHECK(state_of(Speaker::rank, encoded({"set", std::string(kMostKeyBytes + 1, 'k'), ""})) ==
        State::refused);
  CHECK(state_of(Speaker::rank, encoded({"ok", ""})) == State::refused);
  CHECK(state_of(Speaker::rank_0, encoded({"ok", ""})) == State::complete);
  CHECK(state_of(Speaker::rank, encoded({"get", "a", "b"})) == State::refused);
  CHECK(state_of(Speaker::rank, encoded({"leave"})) == State::complete);
  CHECK(state_of(Speaker::stranger, encoded({"leave"})) == State::refused);
  CHECK(state_of(Speaker::stranger, encoded(hello_of(std::string(kMostTokenBytes, 't')))) ==
        State::complete);
  CHECK(state_of(Speaker::rank, count_of(1 << 20) + count_of(3) + "get") == State::refused);
}
