#include "capture/outcome.h"

#include <algorithm>

#include "base/log.h"
#include "capture/tracer.h"
#include "capture/values.h"
#include "objects/ndarray.h"
#include "python/call_in_frame.h"

namespace pijit {

Context& Outcome::context() { return t_; }

int Outcome::recipe(const V& v) {
  auto it = recipe_of_.find(v);
  if (it != recipe_of_.end()) {
    if (it->second < 0) t_.give_up(Reason::kRebuild, "a container that holds itself");
    return it->second;
  }
  if (as<IteratorValue>(v) && v->dirty)
    t_.give_up(Reason::kRebuild, "an iterator that a branch on a tensor moves");
  const Context::Nested nested(t_);
  recipe_of_[v] = -1;
  if (v->src >= 0) return make<SourceRecipe>(v, v->src);
  return v->rebuild(*this);
}

int Outcome::add(Value* v, std::unique_ptr<Recipe> r) {
  const int id = static_cast<int>(entry_->recipes.size());
  entry_->recipes.push_back(std::move(r));
  if (v) recipe_of_[v] = id;
  return id;
}

int Outcome::output(Val node, int assign_to) {
  outputs_.push_back({node, assign_to});
  return static_cast<int>(outputs_.size()) - 1;
}

int Outcome::size(const SizeNumber& n) {
  entry_->sizes.push_back(n);
  return static_cast<int>(entry_->sizes.size()) - 1;
}

bool Outcome::is_known_outside(const Value* v) const {
  return v->src >= 0 || recipe_of_.contains(v);
}

Val Context::add_input(Type t, int src, uint64_t dynamic, bool parameter) {
  for (int d = 0; d < t.shape.rank(); ++d)
    if (dynamic >> d & 1) {
      t.shape[d] = symbols_.symbol(t.shape[d]);
      dynamic_.push_back({static_cast<int>(input_source_.size()), d});
    }
  input_source_.push_back(src);
  return graph_->add_input(t, "", parameter);
}

// The outputs of the graph, and the flags that somebody asks for.
void Outcome::write_outputs() {
  Graph& graph = *t_.graph_;
  for (auto& o : outputs_) {
    const bool same =
        o.assign_to >= 0 && o.node.type() == graph.node(graph.inputs()[o.assign_to]).type;
    graph.outputs.push_back({t_.scope_->val(o.node).id, same ? o.assign_to : -1});
  }
  for (auto id = t_.raising_.rbegin(); id != t_.raising_.rend(); ++id)
    if (!graph.node(*id).abandoned) {
      entry_->watches_flags = true;
      if (!graph.live()[*id]) graph.outputs.push_back({*id, -1});
    }
}

// By sources, in their order.
void Outcome::sort_guards() {
  std::vector<Guard>& guards = t_.guards_;
  std::stable_sort(guards.begin(), guards.end(), [](auto& a, auto& b) { return a.src < b.src; });
  entry_->guards = std::move(guards);
  entry_->guard_range.resize(entry_->sources.size());
  size_t g = 0;
  for (size_t s = 0; s < entry_->sources.size(); ++s) {
    const int b = static_cast<int>(g);
    while (g < entry_->guards.size() && entry_->guards[g].src == static_cast<int>(s)) ++g;
    entry_->guard_range[s] = {b, static_cast<int>(g)};
  }
}

void Outcome::begin() {
  entry_->fast = t_.start_.fast;
  entry_->first_line = t_.start_.code->instrs[t_.start_.instr].line;
}

std::unique_ptr<Entry> Outcome::finish() {
  Entry& e = *entry_;
  for (auto& v : t_.cleaning_)
    if (auto* g = as<GeneratorValue>(v); g->frame && g->pos > 0) g->leave();
  e.own_gradients = t_.tapes.own_gradients;
  e.places.assign(t_.places_.begin(), t_.places_.end());
  if (const auto paths = own_changes(t_); !paths.empty()) throw ChangesItself{paths};
  e.compute_dtype = t_.compute_dtype_at_start_;
  make_effects();
  make_views();
  make_parts();
  if (!e.changed.empty())
    for (auto& [o, v] : t_.known_)
      if (v->src >= 0 && v->obj.ptr() == o && v->has_identity()) e.identities.push_back(v->src);

  e.inputs = t_.input_source_;
  for (auto& g : t_.guards_)
    if (g.kind == Guard::kNdarray && g.version & kNdStored)
      for (size_t k = 0; k < e.inputs.size(); ++k)
        if (e.inputs[k] == g.src) e.stored.push_back(static_cast<int>(k));
  e.assigned_first.resize(e.inputs.size());
  for (size_t k = 0; k < e.recipes.size(); ++k)
    if (auto* r = dynamic_cast<const SourceRecipe*>(e.recipes[k].get()))
      e.from_sources.push_back({static_cast<int>(k), r->source});
  write_outputs();
  e.ops = t_.graph_->op_counts();
  for (auto& [name, count] : e.ops) e.num_ops += static_cast<uint64_t>(count);
  e.in_numpy = time_in_numpy(*t_.graph_);
  e.dynamic = t_.dynamic_;
  e.graph = t_.graph_;
  if (!t_.dynamic_.empty()) e.symbols = std::move(t_.symbols_);
  e.sources = std::move(t_.sources_);
  sort_guards();
  return std::move(entry_);
}

std::unique_ptr<Entry> Outcome::returned(const V& result) {
  begin();
  t_.frames_.resize(1);
  const Frame& f = *t_.frames_[0];
  entry_->result = recipe(result);
  if (f.handled != t_.handled_at_start_) entry_->handled = recipe(f.handled);
  return finish();
}

namespace {
// What any run has at hand: numbers, texts, what is there already, and small tuples of these.
bool is_at_hand(const V& v, bool argument, int depth = 2) {
  constexpr size_t kMostItems = 16;
  if (is_known(v) || is_computed(v)) return true;
  if (const auto* a = as<NdarrayValue>(v); a && a->scalar) return true;
  if (v->src >= 0) return !as<TensorValue>(v) || argument;
  const auto* t = depth > 0 ? as<TupleValue>(v) : nullptr;
  return t && t->type() == &PyTuple_Type && t->items.size() <= kMostItems &&
         std::all_of(t->items.begin(), t->items.end(),
                     [&](const V& i) { return i && is_at_hand(i, false, depth - 1); });
}
}  // namespace

int Outcome::attempt(const V& v) {
  const auto known = recipe_of_;
  const size_t recipes = entry_->recipes.size(), outputs = outputs_.size();
  try {
    return recipe(v);
  } catch (const GraphBreak&) {
  } catch (const StartedIterator&) {
  }
  recipe_of_ = known;
  entry_->recipes.resize(recipes);
  outputs_.resize(outputs, {Val(), -1});
  return -1;
}

// What variables and the stack hold behind the entry.
void Outcome::keep_slots(Frame& f) {
  for (size_t s = 0; s < f.slots.size(); ++s) {
    const V& v = f.slots[s];
    const bool live = f.code->live[f.pc][s] && !as<NullValue>(v);
    // what is not read any more lives on where that costs nothing; arguments do, as their callers
    // mostly have them, and tracebacks name them
    const auto* cell = as<CellValue>(v);
    const V& held = cell && cell->content ? cell->content : v;
    const bool kept = is_at_hand(held, static_cast<int>(s) < num_args(*f.code));
    entry_->slot_recipes.push_back(live || kept ? recipe(v) : -1);
  }
  for (auto& v : f.stack) entry_->stack_recipes.push_back(as<NullValue>(v) ? -1 : recipe(v));
  auto made = [this](const Value* v) {
    const auto it = recipe_of_.find(v);
    return it != recipe_of_.end() && it->second >= 0;
  };
  for (size_t s = 0; s < f.slots.size(); ++s) {
    const V& v = f.slots[s];
    if (entry_->slot_recipes[s] >= 0 || as<NullValue>(v)) continue;
    const auto kept = t_.lifetimes.keeps_alive(v, made);
    if (kept != Lifetimes::Kept::kNothing)
      entry_->slot_recipes[s] = kept == Lifetimes::Kept::kMourned ? recipe(v) : attempt(v);
  }
  for (size_t s = 0; s < f.slots.size(); ++s)
    if (is_computed(f.slots[s]))
      entry_->numbers.push_back(path_of({Source::kState, -1, static_cast<int>(s), {}}, 0));
}

std::unique_ptr<Entry> Outcome::broken(Frame& f, const GraphBreak& b) {
  begin();
  t_.graph_->outputs.clear();  // a return that could not be finished may have begun these
  const std::string place = t_.location();
  BreakRecord& record = entry_->break_record.emplace(BreakRecord{b.reason, b.detail, place, b.of});
  if (!b.where.empty() && b.where != place)
    record.detail += (b.detail.empty() ? "in " : ", in ") + b.where;
  entry_->instr = f.pc;
  keep_slots(f);
  if (f.handled != t_.handled_at_start_) entry_->handled = recipe(f.handled);
  entry_->rest_in_python = b.reason == Reason::kBudget;
  auto e = finish();
  PIJIT_LOG("breaks", e->break_record->location, ": ", reason_text(b.reason),
            b.detail.empty() ? "" : " (", b.detail, b.detail.empty() ? "" : ")");
  return e;
}

}  // namespace pijit
