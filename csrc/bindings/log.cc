// Lines of the log for Python's `logging`. They come from any thread, in the middle of a capture
// too, and code of a user gets them: so they wait until the main thread is between two
// instructions.
#include "base/log.h"

#include <pthread.h>

#include <ctime>
#include <deque>
#include <mutex>

#include "bindings/bindings.h"

namespace pijit {
namespace {

struct Line {
  double seconds;  // since the epoch
  std::string channel, text;
};
struct Waiting {
  std::mutex mu;
  std::deque<Line> lines;
  bool asked = false;  // CPython is to call
  PyObject* function = nullptr;
};
Waiting& waiting() {
  static auto* all = new Waiting;  // threads may outlive static destruction
  return *all;
}

int hand_over(void*) {
  Waiting& all = waiting();
  std::unique_lock lock(all.mu);
  all.asked = false;
  while (!all.lines.empty()) {
    const Line line = std::move(all.lines.front());
    all.lines.pop_front();
    PyObject* const function = all.function;
    lock.unlock();  // what is called may log
    const auto done = py::reinterpret_steal<py::object>(PyObject_CallFunction(
        function, "dss", line.seconds, line.channel.c_str(), line.text.c_str()));
    if (!done) PyErr_WriteUnraisable(function);
    lock.lock();
  }
  return 0;
}

void keep_line(const char* channel, const std::string& text) {
  Waiting& all = waiting();
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  const std::lock_guard lock(all.mu);
  all.lines.push_back(
      {static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9, channel, text});
  if (!all.asked) all.asked = Py_AddPendingCall(hand_over, nullptr) == 0;
}

}  // namespace

void init_log(py::module_& m) {
  pthread_atfork([] { waiting().mu.lock(); }, [] { waiting().mu.unlock(); },
                 [] { waiting().mu.unlock(); });
  using Args = std::vector<py::object>;
  define(m, "listen_to_log", {{"channels"}, {"function"}}, [](const Args& a) {
    waiting().function = py::object(a[1]).release().ptr();  // stays: lines may be on their way
    listen_to_log(argument<std::string>("listen_to_log", "channels", a[0]), keep_line);
    return py::none();
  });
  define(m, "flush_log", {}, [](const Args&) {
    hand_over(nullptr);
    return py::none();
  });
}

}  // namespace pijit
