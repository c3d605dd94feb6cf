#include "daemon/weights/weight_server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/skip.h"
#include "tests/unit/daemon/weight_fixture.h"

namespace hearth::daemon {
namespace {

using Response = v1::WeightsResponse;
using namespace std::chrono_literals;

TEST_CASE("weights: what one process gives the next one gets, read-only") {
  Served served;
  served.make('a');
  const Client client(served.path());
  client.ask('a');
  const Client::Answer answer = client.answer();
  CHECK(answer.outcome == Response::FOUND);
  CHECK(runtime::check_sealed(answer.file.get(), kSize).ok());
  CHECK_FALSE(served.has('b'));
  CHECK_FALSE(served.has('a', kSize + 1));
  CHECK(served.server().stats().blocks == 1);
  CHECK(served.server().stats().bytes == kSize);
}

TEST_CASE("weights: of many that ask at once one makes them, the others wait and get them") {
  Served served;
  std::vector<Client> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(served.path());
  for (const Client& client : clients) client.ask('a');
  REQUIRE(clients[0].outcome() == Response::MAKE);
  for (int i = 1; i < 8; ++i) CHECK(clients[static_cast<std::size_t>(i)].is_waiting());
  clients[0].give(sealed().get());
  for (const Client& client : clients) {
    CHECK(client.outcome() == (&client == &clients[0] ? Response::DONE : Response::FOUND));
  }
}

TEST_CASE("weights: when their maker dies another one that waits makes them") {
  Served served;
  auto maker = std::make_unique<Client>(served.path());
  const Client next(served.path()), last(served.path());
  maker->ask('a');
  REQUIRE(maker->outcome() == Response::MAKE);
  next.ask('a');
  CHECK(next.is_waiting());
  last.ask('a');
  CHECK(last.is_waiting());
  maker.reset();
  CHECK(next.outcome() == Response::MAKE);
  CHECK(last.is_waiting());
  next.give(sealed().get());
  CHECK(next.outcome() == Response::DONE);
  CHECK(last.outcome() == Response::FOUND);
}

TEST_CASE("weights: those nobody uses go first when there is no room, and all go some time after their last user") {
  Served served({.bytes = 3 * kSize, .blocks = 2, .keep = 0ms});
  const Client user(served.path());
  user.ask('a');
  REQUIRE(user.outcome() == Response::MAKE);
  user.give(sealed().get());
  REQUIRE(user.outcome() == Response::DONE);
  CHECK(served.server().stats().users == 1);
  const Client second(served.path());
  second.ask('b');
  REQUIRE(second.outcome() == Response::MAKE);
  second.give(sealed().get());
  REQUIRE(second.outcome() == Response::DONE);
  const Client third(served.path());  // beyond max_weights: the least recently used of those in use goes
  third.ask('c');
  REQUIRE(third.outcome() == Response::MAKE);
  third.give(sealed().get());
  REQUIRE(third.outcome() == Response::DONE);
  CHECK(served.server().stats().blocks == 2);
  CHECK(served.has('c'));
  const Client large(served.path());
  large.ask('d', 4 * kSize);
  CHECK(large.outcome() == Response::REFUSED);
}

TEST_CASE("weights: kept while a plan uses them, then for weights_keep_s") {
  for (const bool keeps : {false, true}) {
    Served served({.bytes = 10 * kSize, .keep = keeps ? std::chrono::milliseconds(1h) : 0ms});
    auto user = std::make_unique<Client>(served.path());
    user->ask('a');
    REQUIRE(user->outcome() == Response::MAKE);
    user->give(sealed().get());
    REQUIRE(user->outcome() == Response::DONE);
    CHECK(served.has('a'));
    user.reset();
    if (keeps) {
      CHECK(happens([&] { return served.server().stats().users == 0; }));
      CHECK(served.server().stats().blocks == 1);
    } else {
      CHECK(happens([&] { return served.server().stats().blocks == 0; }));
      CHECK_FALSE(served.has('a'));
    }
  }
}

TEST_CASE("weights: a digest that one process tells the next one finds, for exactly the same part of a file") {
  Served served;
  v1::WeightsRequest store, find;
  v1::FileRange range;
  range.set_inode(7);
  range.set_changed_ns(1234);
  range.set_length(kSize);
  *store.mutable_store_digests()->add_ranges() = range;
  store.mutable_store_digests()->add_digests(key('d'));
  *find.mutable_find_digests()->add_ranges() = range;
  range.set_changed_ns(1235);
  *find.mutable_find_digests()->add_ranges() = range;
  const Client client(served.path());
  client.send(store);
  REQUIRE(client.outcome() == Response::DONE);
  client.send(find);
  const Client::Answer answer = client.answer();
  REQUIRE(answer.response.digests_size() == 2);
  CHECK(answer.response.digests(0) == key('d'));
  CHECK(answer.response.digests(1).empty());
}

TEST_CASE("weights: a range with fields that nobody knows is the same range, and takes no more memory") {
  Served served;
  v1::WeightsRequest store, find;
  v1::FileRange range;
  range.set_inode(7);
  *find.mutable_find_digests()->add_ranges() = range;
  range.GetReflection()->MutableUnknownFields(&range)->AddLengthDelimited(100, std::string(30'000, 'x'));
  *store.mutable_store_digests()->add_ranges() = range;
  store.mutable_store_digests()->add_digests(key('d'));
  const Client client(served.path());
  client.send(store);
  REQUIRE(client.outcome() == Response::DONE);
  client.send(find);
  CHECK(client.answer().response.digests(0) == key('d'));
}

TEST_CASE("weights: a packet has at most 256 ranges") {
  Served served;
  v1::WeightsRequest request;
  for (int i = 0; i < 256; ++i) request.mutable_find_digests()->add_ranges();
  const Client client(served.path());
  client.send(request);
  CHECK(client.answer().response.digests_size() == 256);
  request.mutable_find_digests()->add_ranges();
  client.send(request);
  CHECK(client.outcome() == Response::REFUSED);
}

TEST_CASE("weights: a file of holes takes nobody's place") {
  Served served;
  served.make('a');
  const Client hollow(served.path());
  hollow.ask('b', 9 * kSize);
  REQUIRE(hollow.outcome() == Response::MAKE);
  hollow.give(sealed(9 * kSize, kSize).get());
  const Client::Answer answer = hollow.answer();
  CHECK(answer.outcome == Response::REFUSED);
  CHECK(answer.response.message().find("of its 589824 bytes filled") != std::string::npos);
  CHECK(served.has('a'));
}

TEST_CASE("weights: one process's weights put out what others use up to half of the memory, and no more") {
  WeightStore store({.bytes = 4 * kSize, .blocks = 100});
  const ClientId victim{1000, 1}, other{1000, 2};
  const WeightStore::Time now = std::chrono::steady_clock::now();
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    REQUIRE(store.put(victim, key(letter), {kSize}, sealed(), now).ok());
    store.hold(1000, key(letter));
  }
  CHECK(store.put(other, key('e'), {kSize}, sealed(), now).ok());
  store.hold(1000, key('e'));
  CHECK(store.put(other, key('f'), {kSize}, sealed(), now).ok());
  store.hold(1000, key('f'));
  const absl::Status refused = store.put(other, key('g'), {kSize}, sealed(), now);
  CHECK(absl::IsResourceExhausted(refused));
  CHECK(std::string(refused.message()).find("process 2") != std::string::npos);
  CHECK(store.stats().blocks == 4);
  store.release(1000, key('c'), now);  // nobody uses it any more: it may go
  CHECK(store.put(other, key('g'), {kSize}, sealed(), now).ok());
}

TEST_CASE("weights in a GPU's memory: what one process gives the next one gets, until the last lets it go") {
  Served served;
  served.make('a');
  {
    auto maker = std::make_unique<Client>(served.path());
    maker->ask_for_device('a');  // those in the host's memory are others
    REQUIRE(maker->outcome() == Response::MAKE);
    maker->give(device_memory().get());
    REQUIRE(maker->outcome() == Response::DONE);
    const Client next(served.path());
    next.ask_for_device('a');
    Client::Answer answer = next.answer();
    CHECK(answer.outcome == Response::FOUND);
    CHECK(answer.file);
    maker.reset();  // the one that has it keeps it
    const Client last(served.path());
    last.ask_for_device('a');
    CHECK(last.outcome() == Response::FOUND);
    CHECK(served.has('a'));
  }
  CHECK(happens([&] { return served.server().stats().blocks == 1; }));
  const Client later(served.path());
  later.ask_for_device('a');
  CHECK(later.outcome() == Response::MAKE);
}

TEST_CASE("weights in a GPU's memory take none of the host's, but for a file that does") {
  WeightStore store({.bytes = 4 * kSize, .blocks = 100});
  const ClientId maker{1000, 1};
  const WeightStore::Time now = std::chrono::steady_clock::now();
  const std::uint64_t large = std::uint64_t{1} << 40;
  CHECK(store.takes({large, true}));
  CHECK_FALSE(store.takes({large, false}));
  CHECK(store.put(maker, key('a'), {large, true}, device_memory(), now).ok());
  CHECK(store.stats().bytes == kSize);  // a memory file stands in for it
  CHECK(absl::IsResourceExhausted(store.put(maker, key('b'), {kSize, true}, device_memory(5 * kSize), now)));
}

TEST_CASE("weights in a GPU's memory: a descriptor of anything else is refused") {
  Served served;
  int pipe_ends[2] = {-1, -1};
  REQUIRE(::pipe2(pipe_ends, O_CLOEXEC) == 0);
  const UniqueFd read_end(pipe_ends[0]), write_end(pipe_ends[1]);
  const UniqueFd device(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd file(::open((served.folder() / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const UniqueFd* const given : {&read_end, &device, &file, &socket}) {
    REQUIRE(*given);
    const Client maker(served.path());
    maker.ask_for_device('a');
    REQUIRE(maker.outcome() == Response::MAKE);
    maker.give(given->get());
    const Client::Answer answer = maker.answer();
    CHECK(answer.outcome == Response::REFUSED);
    CHECK_THAT(answer.response.message(), Catch::Contains("of no GPU's memory"));
    CHECK(maker.is_closed());
  }
  CHECK(served.server().stats().blocks == 0);
}

TEST_CASE("weights: what breaks the protocol is closed, leaks no descriptor and disturbs nobody") {
  Served served;
  served.make('a');
  const std::size_t before = num_descriptors();
  for (int round = 0; round < 20; ++round) {
    const Client peer(served.path());
    v1::WeightsRequest request;
    request.set_version(kWeightsVersion);
    const UniqueFd file = sealed();
    switch (round % 10) {
      case 0:  // noise
        REQUIRE(send_packet(peer.fd(), "\xff\xfe noise").ok());
        break;
      case 1:  // half a message
        request.mutable_take()->set_key(key('a'));
        REQUIRE(send_packet(peer.fd(), request.SerializeAsString().substr(0, 20)).ok());
        break;
      case 2:  // a file that nobody asked for
        peer.give(file.get());
        break;
      case 3:  // no file
        peer.ask('m');
        REQUIRE(peer.outcome() == Response::MAKE);
        peer.give(-1);
        break;
      case 4:  // a file that can still be written to
        peer.ask('m');
        REQUIRE(peer.outcome() == Response::MAKE);
        peer.give(runtime::create_memory_file("test", kSize)->get());
        break;
      case 5:  // another size than was asked for
        peer.ask('m');
        REQUIRE(peer.outcome() == Response::MAKE);
        peer.give(sealed(2 * kSize).get());
        break;
      case 6:  // several files
        peer.ask('m');
        REQUIRE(peer.outcome() == Response::MAKE);
        request.mutable_give();
        send_many(peer.fd(), request.SerializeAsString(), std::vector<int>(6, file.get()));
        break;
      case 7:  // a short key
        request.mutable_take()->set_key("short");
        request.mutable_take()->set_size_bytes(kSize);
        peer.send(request);
        break;
      case 8:  // another version
        request.set_version(kWeightsVersion + 1);
        request.mutable_find_digests();
        REQUIRE(send_packet(peer.fd(), request.SerializeAsString()).ok());
        break;
      case 9:  // digests without their files
        request.mutable_store_digests()->add_digests(key('d'));
        peer.send(request);
        break;
    }
    INFO("round " << round);
    CHECK(peer.is_closed());
  }
  CHECK(served.has('a'));
  CHECK_FALSE(served.has('m'));
  CHECK(happens([&] { return num_descriptors() <= before; }));
}

TEST_CASE("weights: a peer that floods and does not read is closed, and others are served meanwhile") {
  Served served;
  served.make('a');
  const Client flood(served.path());
  v1::WeightsRequest request;
  request.set_version(kWeightsVersion);
  request.mutable_find_digests();
  const std::string bytes = request.SerializeAsString();
  bool is_closed = false;
  for (int i = 0; i < 1'000'000 && !is_closed; ++i) {
    is_closed = absl::IsOutOfRange(send_packet(flood.fd(), bytes));
    if (i % 10'000 == 0) CHECK(served.has('a'));
  }
  CHECK(is_closed);
  const Client silent(served.path());
  CHECK(served.has('a'));
}

TEST_CASE("weights: connections beyond the limits are refused") {
  Served served({.bytes = 10 * kSize}, {.total = 100, .per_process = 3});
  std::vector<Client> open;
  for (int i = 0; i < 3; ++i) {
    open.emplace_back(served.path());
    open.back().ask('a');
  }
  REQUIRE(open[0].outcome() == Response::MAKE);
  CHECK(Client(served.path()).is_closed());
  open.pop_back();
  v1::WeightsRequest request;
  request.set_version(kWeightsVersion);
  request.mutable_find_digests();
  CHECK(happens([&] {  // one that ends makes room
    const Client next(served.path());
    return send_packet(next.fd(), request.SerializeAsString()).ok() && next.outcome() == Response::DONE;
  }));
  CHECK(open[1].is_waiting());
}

TEST_CASE("weights: when all connections are taken, another process gets one of who has the most") {
  Served served({.bytes = 10 * kSize}, {.total = 3, .per_process = 3});
  std::vector<Client> open;
  for (int i = 0; i < 3; ++i) open.emplace_back(served.path());
  REQUIRE(open[2].is_waiting());  // all three are accepted
  const pid_t newcomer = ::fork();
  if (newcomer == 0) {
    const Client client(served.path());
    client.ask('a');
    ::_exit(client.outcome() == Response::MAKE ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(newcomer, &status, 0) == newcomer);
  CHECK(status == 0);
  CHECK(std::count_if(open.begin(), open.end(),
                      [](const Client& client) { return !client.is_waiting() && client.is_closed(); }) == 1);
}

TEST_CASE("weights: another user's connection is closed even where permissions would allow it") {
  if (::geteuid() != 0) SKIP_CASE("not root: cannot become another user");
  Served served;
  served.make('a');
  REQUIRE(::chmod(served.folder().path().c_str(), 0755) == 0);
  REQUIRE(::chmod(served.path().c_str(), 0666) == 0);
  const std::string path = served.path();
  v1::WeightsRequest request;
  request.set_version(kWeightsVersion);
  request.mutable_take()->set_key(key('a'));
  request.mutable_take()->set_size_bytes(kSize);
  const std::string bytes = request.SerializeAsString();
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (::setuid(12345) != 0) ::_exit(1);
    if (!connect_to(fd, path)) ::_exit(2);
    char byte;
    ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::_exit(::recv(fd, &byte, 1, 0) <= 0 ? 0 : 3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("weights: the socket is its owner's alone, and gone when the server stops") {
  Served served;
  struct stat info;
  REQUIRE(::stat(served.path().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const Client waiting(served.path());
  served.server().stop();
  CHECK(waiting.is_closed());
  CHECK_FALSE(std::filesystem::exists(served.path()));
}

}  // namespace
}  // namespace hearth::daemon
