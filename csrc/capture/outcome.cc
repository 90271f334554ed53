// The outcome of a capture: recipes, effects, guards and program of an entry.
#include <algorithm>

#include "base/log.h"
#include "capture/rebuilder.h"
#include "capture/tracer.h"
#include "capture/values.h"
#include "objects/ndarray.h"
#include "python/call_in_frame.h"

namespace pijit {

int Tracer::recipe(const V& v) {
  auto it = recipe_of_.find(v);
  if (it != recipe_of_.end()) {
    if (it->second < 0) give_up(Reason::kRebuild, "a container that holds itself");
    return it->second;
  }
  if (as<IteratorValue>(v) && v->dirty)
    give_up(Reason::kRebuild, "an iterator that a branch on a tensor moves");
  const Nested nested(*this);
  recipe_of_[v] = -1;
  if (v->src >= 0) return Rebuilder::make<SourceRecipe>(v, v->src);
  return v->rebuild(*this);
}

int Tracer::add(Value* v, std::unique_ptr<Recipe> r) {
  const int id = static_cast<int>(entry_->recipes.size());
  entry_->recipes.push_back(std::move(r));
  if (v) recipe_of_[v] = id;
  return id;
}

int Tracer::output(Val node) {
  outputs_.push_back({node, -1});
  return static_cast<int>(outputs_.size()) - 1;
}

int Tracer::size(const SizeNumber& n) {
  entry_->sizes.push_back(n);
  return static_cast<int>(entry_->sizes.size()) - 1;
}

Val Context::add_input(Type t, int src, uint64_t dynamic) {
  for (int d = 0; d < t.shape.rank(); ++d)
    if (dynamic >> d & 1) {
      t.shape[d] = symbols_.symbol(t.shape[d]);
      dynamic_.push_back({static_cast<int>(input_source_.size()), d});
    }
  input_source_.push_back(src);
  return graph_->add_input(t);
}

void Tracer::finish(Entry* e) {
  for (auto& v : cleaning_)
    if (auto* g = as<GeneratorValue>(v); g->frame && g->pos > 0) g->leave();
  e->own_gradients = tapes.own_gradients;
  e->places.assign(places_.begin(), places_.end());
  if (const auto paths = own_changes(); !paths.empty()) throw ChangesItself{paths};
  e->compute_dtype = compute_dtype_at_start_;
  make_effects(e);
  make_views(e);
  make_parts(e);
  if (!e->changed.empty())
    for (auto& [o, v] : known_)
      if (v->src >= 0 && v->obj.ptr() == o && v->has_identity()) e->identities.push_back(v->src);

  e->inputs = input_source_;
  for (auto& g : guards_)
    if (g.kind == Guard::kNdarray && g.version & kNdStored)
      for (size_t k = 0; k < e->inputs.size(); ++k)
        if (e->inputs[k] == g.src) e->stored.push_back(static_cast<int>(k));
  e->assigned_first.resize(e->inputs.size());
  for (size_t k = 0; k < e->recipes.size(); ++k)
    if (auto* r = dynamic_cast<const SourceRecipe*>(e->recipes[k].get()))
      e->from_sources.push_back({static_cast<int>(k), r->source});
  for (auto& o : outputs_) {
    const bool same =
        o.assign_to >= 0 && o.node.type() == graph_->node(graph_->inputs()[o.assign_to]).type;
    graph_->outputs.push_back({scope_->val(o.node).id, same ? o.assign_to : -1});
  }
  for (auto id = raising_.rbegin(); id != raising_.rend(); ++id)
    if (!graph_->node(*id).abandoned) {
      e->watches_flags = true;
      if (!graph_->live()[*id]) graph_->outputs.push_back({*id, -1});
    }
  e->ops = graph_->op_counts();
  e->dynamic = dynamic_;
  e->graph = graph_;
  if (!dynamic_.empty()) e->symbols = std::move(symbols_);
  e->sources = std::move(sources_);
  std::stable_sort(guards_.begin(), guards_.end(), [](auto& a, auto& b) { return a.src < b.src; });
  e->guards = std::move(guards_);
  e->guard_range.resize(e->sources.size());
  size_t g = 0;
  for (size_t s = 0; s < e->sources.size(); ++s) {
    const int b = static_cast<int>(g);
    while (g < e->guards.size() && e->guards[g].src == static_cast<int>(s)) ++g;
    e->guard_range[s] = {b, static_cast<int>(g)};
  }
}

std::unique_ptr<Entry> Tracer::finish_return(const V& result) {
  auto e = std::make_unique<Entry>();
  entry_ = e.get();
  e->fast = start_.fast;
  frames_.resize(1);
  e->first_line = start_.code->instrs[start_.instr].line;
  e->result = recipe(result);
  if (frames_[0]->handled != handled_at_start_) e->handled = recipe(frames_[0]->handled);
  finish(e.get());
  return e;
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

std::unique_ptr<Entry> Tracer::finish_break(Frame& f, const GraphBreak& b) {
  auto e = std::make_unique<Entry>();
  entry_ = e.get();
  // a return that could not be finished may have begun these
  recipe_of_.clear();
  outputs_.clear();
  graph_->outputs.clear();
  e->fast = start_.fast;
  e->first_line = start_.code->instrs[start_.instr].line;
  e->break_record = BreakRecord{b.reason, b.detail, location(), b.of};
  if (!b.where.empty() && b.where != location())
    e->break_record->detail += (b.detail.empty() ? "in " : ", in ") + b.where;
  e->instr = f.pc;
  for (size_t s = 0; s < f.slots.size(); ++s) {
    const V& v = f.slots[s];
    const bool live = f.code->live[f.pc][s] && !as<NullValue>(v);
    // what is not read any more lives on where that costs nothing; arguments do, as their callers
    // mostly have them, and tracebacks name them
    const auto* cell = as<CellValue>(v);
    const V& held = cell && cell->content ? cell->content : v;
    const bool kept = is_at_hand(held, static_cast<int>(s) < num_args(*f.code));
    e->slot_recipes.push_back(live || kept ? recipe(v) : -1);
  }
  for (auto& v : f.stack) e->stack_recipes.push_back(as<NullValue>(v) ? -1 : recipe(v));
  auto attempt = [&](const V& v) {
    const auto known = recipe_of_;
    const size_t recipes = e->recipes.size(), outputs = outputs_.size();
    try {
      return recipe(v);
    } catch (const GraphBreak&) {
    } catch (const StartedIterator&) {
    }
    recipe_of_ = known;
    e->recipes.resize(recipes);
    outputs_.resize(outputs, {Val(), -1});
    return -1;
  };
  for (size_t s = 0; s < f.slots.size(); ++s) {
    const V& v = f.slots[s];
    if (e->slot_recipes[s] >= 0 || as<NullValue>(v)) continue;
    const Kept kept = keeps_alive(v);
    if (kept != Kept::kNothing)
      e->slot_recipes[s] = kept == Kept::kMourned ? recipe(v) : attempt(v);
  }
  for (size_t s = 0; s < f.slots.size(); ++s)
    if (is_computed(f.slots[s]))
      e->numbers.push_back(path_of({Source::kState, -1, static_cast<int>(s), {}}, 0));
  if (f.handled != handled_at_start_) e->handled = recipe(f.handled);
  e->rest_in_python = b.reason == Reason::kBudget;
  finish(e.get());
  PIJIT_LOG("breaks", e->break_record->location, ": ", reason_text(b.reason),
            b.detail.empty() ? "" : " (", b.detail, b.detail.empty() ? "" : ")");
  return e;
}

}  // namespace pijit
