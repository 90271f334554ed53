// What pijit.communication asks of runtime/collective.h.
#include "bindings/bindings.h"
#include "runtime/collective.h"

namespace pijit {

void init_collective(py::module_& m) {
  using Args = std::vector<py::object>;
  define(
      m, "start_processes", {{"library"}},
      [](const Args& a) {
        const std::string library = argument<std::string>("init", "library", a[0]);
        {
          const py::gil_scoped_release others_run;
          processes::start(library);
        }
        return py::make_tuple(processes::rank(), processes::size(), processes::local_rank(),
                              processes::local_size());
      },
      "Opens the library that knows the other processes: (rank, size, local rank, local size).");
  define(
      m, "stop_processes", {},
      [](const Args&) {
        processes::stop();
        return py::none();
      },
      "Ends communication, when all processes do.");
  define(
      m, "end_processes", {},
      [](const Args&) {
        processes::end();
        return py::none();
      },
      "Ends the library behind stop_processes, as the program ends.");
  define(
      m, "abort_processes", {{"code"}},
      [](const Args& a) {
        processes::abort(static_cast<int>(argument<int64_t>("abort_processes", "code", a[0])));
        return py::none();
      },
      "Ends all processes at once.");
  define(
      m, "make_process_group", {{"name"}, {"ranks"}},
      [](const Args& a) {
        const std::string name = argument<std::string>("create_group", "group", a[0]);
        std::vector<int> ranks;
        for (auto r : argument<py::sequence>("create_group", "rank_ids", a[1]))
          ranks.push_back(static_cast<int>(argument<int64_t>("create_group", "rank_ids", r)));
        processes::make_group(name, ranks);
        return py::none();
      },
      "Makes a group, with its other members.");
  define(m, "drop_process_group", {{"name"}}, [](const Args& a) {
    processes::drop_group(argument<std::string>("destroy_group", "group", a[0]));
    return py::none();
  });
  define(
      m, "use_device_collectives", {{"use"}},
      [](const Args& a) {
        processes::use_devices(argument<bool>("init", "use", a[0]));
        return py::none();
      },
      "Whether devices' own libraries move what lies there.");
  define(
      m, "lacks_device_collectives", {{"device"}},
      [](const Args& a) -> py::object {
        std::string why;
        Device& d = device(find_device("init", argument<std::string>("init", "device", a[0])));
        if (d.is_host() || d.collectives(&why)) return py::none();
        return py::str(why);
      },
      "Why what lies on a device goes by the host; None where a library of the device moves it.");
  define(
      m, "set_process_timeout", {{"seconds"}},
      [](const Args& a) {
        processes::set_timeout(argument<double>("set_process_timeout", "seconds", a[0]));
        return py::none();
      },
      "How long others are waited for.");
}

}  // namespace pijit
