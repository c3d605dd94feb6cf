// A stand-in for hearthd in tests of the start: listens on --socket, writes to --ready-fd, accepts and never answers.
// Every start appends a line to SOCKET.starts. HEARTH_FAKE_DAEMON=die: complains and ends; mute: never becomes ready;
// second: the first start serves once there is another, which ends as hearthd does where one serves already.
// leaves: the first start finds another daemon, which is gone before anybody reaches it. It ends by itself after 20 s.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

bool is_served(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const bool connected = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return connected;
}

// The processes that were started, in order.
std::vector<pid_t> starts_on(const std::string& socket_path) {
  std::ifstream file(socket_path + ".starts");
  return {std::istream_iterator<pid_t>(file), std::istream_iterator<pid_t>()};
}

}  // namespace

int main(int argc, char** argv) {
  std::string socket_path;
  int ready = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--socket") socket_path = argv[i + 1];
    if (std::string(argv[i]) == "--ready-fd") ready = std::atoi(argv[i + 1]);
  }
  std::ofstream(socket_path + ".starts", std::ios::app) << getpid() << "\n";
  alarm(20);
  signal(SIGPIPE, SIG_IGN);  // its starter may be gone
  const std::string mode = std::getenv("HEARTH_FAKE_DAEMON") ? std::getenv("HEARTH_FAKE_DAEMON") : "";
  if (mode == "die") {
    std::cerr << "the fake daemon was told to die\n";
    return 1;
  }
  if (mode == "mute") pause();
  if (mode == "leaves" && starts_on(socket_path).size() == 1) {
    std::cerr << "a daemon already serves\n";
    return write(ready, "0", 1) == 1 ? 3 : 4;
  }
  usleep(50000);  // time for a race
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
  if (mode == "second") {
    while (starts_on(socket_path).size() < 2) usleep(1000);
    if (starts_on(socket_path)[0] != getpid()) {
      while (!is_served(address)) usleep(1000);
      std::cerr << "a daemon already serves\n";
      return 3;
    }
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  unlink(socket_path.c_str());
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(fd, 64) != 0) return 2;
  if (write(ready, "1", 1) != 1) std::cerr << "nobody waits for the fake daemon\n";
  for (;;) accept(fd, nullptr, nullptr);
}
