#include "python/define.h"

#include "base/nearest.h"

namespace pijit {

std::vector<py::object> bind_arguments(const char* function, const Parameters& parameters,
                                       const py::args& args, const py::kwargs& kwargs) {
  OP_CHECK(args.size() <= parameters.size(), kType, function, "() takes ", parameters.size(),
           " arguments but ", args.size(), " were given");
  std::vector<py::object> values(parameters.size());
  for (size_t k = 0; k < args.size(); ++k) values[k] = args[k];
  for (auto [key, value] : kwargs) {
    const std::string name = text_of(key);
    size_t k = 0;
    while (k < parameters.size() && name != parameters[k].name) ++k;
    if (k == parameters.size()) {
      std::vector<std::string_view> known;
      for (auto& p : parameters) known.push_back(p.name);
      throw OpError(OpError::kType, unexpected_keyword(function, name, known));
    }
    OP_CHECK(!values[k], kType, function, "() got multiple values for argument '", name, "'");
    values[k] = py::reinterpret_borrow<py::object>(value);
  }
  for (size_t k = 0; k < parameters.size(); ++k) {
    if (!values[k]) values[k] = parameters[k].value_if_left_out;
    OP_CHECK(values[k], kType, function, "() missing required argument '", parameters[k].name, "'");
  }
  return values;
}

}  // namespace pijit
