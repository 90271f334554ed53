// How capture writes the recipes of an entry.
#pragma once
#include "capture/value.h"
#include "entry/recipe.h"

namespace pijit {

// Writes the recipes of an entry.
class Rebuilder {
 public:
  virtual ~Rebuilder() = default;
  virtual Context& context() = 0;
  virtual int recipe(const V& v) = 0;
  // Enters a recipe; for v, which is known from here on, or for nothing that is a value.
  virtual int add(Value* v, std::unique_ptr<Recipe> r) = 0;
  virtual int output(Val node) = 0;           // of the program
  virtual int size(const SizeNumber& n) = 0;  // of an instance

  template <class T, class... A>
  int make(Value* v, A&&... args) {
    return add(v, std::make_unique<T>(std::forward<A>(args)...));
  }
};

}  // namespace pijit
