// The outcome of a capture: recipes, effects, guards and graph of an entry.
#pragma once
#include "absl/container/flat_hash_map.h"
#include "capture/capture.h"
#include "capture/rebuilder.h"
#include "entry/entry.h"

namespace pijit {

class Tracer;
struct Frame;

// effects.cc: paths of what the code itself changes, though its guards ask for it.
std::vector<uint64_t> own_changes(Context& c);

// Writes one entry, from what the tracer holds at its end.
class Outcome final : public Rebuilder {
 public:
  explicit Outcome(Tracer& t) : t_(t) {}
  std::unique_ptr<Entry> returned(const V& result);
  std::unique_ptr<Entry> broken(Frame& f, const GraphBreak& b);

  Context& context() override;
  int recipe(const V& v) override;
  int add(Value* v, std::unique_ptr<Recipe> r) override;
  int output(Val node) override { return output(node, -1); }
  int output(Val node, int assign_to);  // an input, or -1
  int size(const SizeNumber& n) override;

 private:
  void begin();
  void keep_slots(Frame& f);
  int attempt(const V& v);  // -1: it cannot be made
  std::unique_ptr<Entry> finish();
  void write_outputs();
  void sort_guards();
  // --- effects.cc
  void make_effects();
  void make_parts();
  void make_views();
  bool is_known_outside(const Value* v) const;  // it came from there, or goes there

  struct Output {
    Val node;
    int assign_to;
  };
  Tracer& t_;
  std::unique_ptr<Entry> entry_ = std::make_unique<Entry>();
  absl::flat_hash_map<const Value*, int> recipe_of_;
  std::vector<Output> outputs_;
};

}  // namespace pijit
