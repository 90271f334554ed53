// Effects: what a call does to objects that exist outside of it. Capture notes them in one journal,
// in the order of the program; an entry applies them in this order, each by the operation that the
// program has.
#include "entry/runner.h"
#include "capture/outcome.h"
#include "capture/tracer.h"
#include "capture/values/growing.h"
#include "capture/values/scalar.h"
#include "capture/values/slice.h"
#include "capture/values/tensor.h"
#include "objects/index.h"
#include "objects/ndarray.h"
#include "objects/views.h"

namespace pijit {
namespace {

void check(int status) {
  if (status < 0) throw py::error_already_set();
}

class AssignTensor final : public Effect {
 public:
  AssignTensor(int target, int output) : target_(target), output_(output) {}
  void apply(Runner& r) const override {
    ArrayRef& a = r.output(output_);
    if (!a) return;
    const py::object target = r.make(target_);
    if (is_viewed(target.ptr()))
      store_in_buffer(reinterpret_cast<TensorObject*>(target.ptr()), a);
    else
      array_of(target.ptr()) = std::move(a);
  }
  std::string describe() const override { return str_cat("assign ", target_, " output ", output_); }

 private:
  int target_, output_;
};

// Generic: the class has no __setattr__ that could see it (Cell's own stores plainly, too).
class SetAttr final : public Effect {
 public:
  SetAttr(int target, py::object name, int value)
      : target_(target), name_(std::move(name)), value_(value) {}
  void apply(Runner& r) const override {
    const py::object o = r.make(target_), v = r.make(value_);
    check(PyObject_GenericSetAttr(o.ptr(), name_.ptr(), v.ptr()));
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(name_.ptr());
    return 0;
  }
  std::string describe() const override {
    return str_cat(target_, ".", text_of(name_), " = ", value_);
  }

 private:
  int target_;
  py::object name_;
  int value_;
};

class SetClassAttr final : public Effect {
 public:
  SetClassAttr(int target, py::object name, int value)
      : target_(target), name_(std::move(name)), value_(value) {}
  void apply(Runner& r) const override {
    const py::object t = r.make(target_), v = r.make(value_);
    check(PyObject_SetAttr(t.ptr(), name_.ptr(), v.ptr()));
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(name_.ptr());
    return 0;
  }
  std::string describe() const override {
    return str_cat("class ", target_, ".", text_of(name_), " = ", value_);
  }

 private:
  int target_;
  py::object name_;
  int value_;
};

class DelAttr final : public Effect {
 public:
  DelAttr(int target, py::object name) : target_(target), name_(std::move(name)) {}
  void apply(Runner& r) const override {
    const py::object o = r.make(target_);
    check(PyObject_GenericSetAttr(o.ptr(), name_.ptr(), nullptr));
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(name_.ptr());
    return 0;
  }
  std::string describe() const override { return str_cat("del ", target_, ".", text_of(name_)); }

 private:
  int target_;
  py::object name_;
};

class SetGlobal final : public Effect {
 public:
  SetGlobal(py::object globals, py::object name, int value)
      : globals_(std::move(globals)), name_(std::move(name)), value_(value) {}
  void apply(Runner& r) const override {
    const py::object v = r.make(value_);
    check(PyDict_SetItem(globals_.ptr(), name_.ptr(), v.ptr()));
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(globals_.ptr());
    Py_VISIT(name_.ptr());
    return 0;
  }
  std::string describe() const override {
    return str_cat("global ", text_of(name_), " = ", value_);
  }

 private:
  py::object globals_, name_;
  int value_;
};

class SetCell final : public Effect {
 public:
  SetCell(int target, int value) : target_(target), value_(value) {}
  void apply(Runner& r) const override {
    const py::object c = r.make(target_), v = r.make(value_);
    check(PyCell_Set(c.ptr(), v.ptr()));
  }
  std::string describe() const override { return str_cat("cell ", target_, " = ", value_); }

 private:
  int target_, value_;
};

// By `print` or pijit.printing.print_each, which graph mode has another form for.
class Print final : public Effect {
 public:
  Print(py::object function, int args, py::object keywords)
      : function_(std::move(function)), args_(args), keywords_(std::move(keywords)) {}
  void apply(Runner& r) const override {
    const bool plain = !runs_as_graph() || PyDict_GET_SIZE(keywords_.ptr());
    const py::object args = r.make(args_);
    if (!py::reinterpret_steal<py::object>(PyObject_Call(
            plain ? function_.ptr() : library.graph_print.ptr(), args.ptr(), keywords_.ptr())))
      throw py::error_already_set();
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(function_.ptr());
    Py_VISIT(keywords_.ptr());
    return 0;
  }
  std::string describe() const override { return str_cat("print ", args_, " ", shown(keywords_)); }

 private:
  py::object function_;
  int args_;  // a tuple
  py::object keywords_;
};

class ExtendList final : public Effect {
 public:
  ExtendList(int target, std::vector<int> values) : target_(target), values_(std::move(values)) {}
  void apply(Runner& r) const override {
    const py::object l = r.make(target_);
    for (int v : values_) check(PyList_Append(l.ptr(), r.make(v).ptr()));
  }
  std::string describe() const override {
    std::string r = str_cat("extend ", target_, " by");
    for (int v : values_) r += str_cat(" ", v);
    return r;
  }

 private:
  int target_;
  std::vector<int> values_;
};

class SetItem final : public Effect {
 public:
  SetItem(int target, int key, int value) : target_(target), key_(key), value_(value) {}
  void apply(Runner& r) const override {
    const py::object o = r.make(target_), k = r.make(key_), v = r.make(value_);
    check(PyObject_SetItem(o.ptr(), k.ptr(), v.ptr()));
  }
  std::string describe() const override { return str_cat(target_, "[", key_, "] = ", value_); }

 private:
  int target_, key_, value_;
};

class DeleteItem final : public Effect {
 public:
  DeleteItem(int target, int key) : target_(target), key_(key) {}
  void apply(Runner& r) const override {
    const py::object o = r.make(target_), k = r.make(key_);
    check(PyObject_DelItem(o.ptr(), k.ptr()));
  }
  std::string describe() const override { return str_cat("del ", target_, "[", key_, "]"); }

 private:
  int target_, key_;
};

// A method of a class written in C, which returns nothing that is used.
class CallMethod final : public Effect {
 public:
  CallMethod(py::object method, std::vector<int> args)
      : method_(std::move(method)), args_(std::move(args)) {}
  void apply(Runner& r) const override {
    std::vector<py::object> held;
    std::vector<PyObject*> raw;
    for (int a : args_) held.push_back(r.make(a));
    for (auto& h : held) raw.push_back(h.ptr());
    if (!py::reinterpret_steal<py::object>(
            PyObject_Vectorcall(method_.ptr(), raw.data(), raw.size(), nullptr)))
      throw py::error_already_set();
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(method_.ptr());
    return 0;
  }
  std::string describe() const override {
    std::string r = str_cat("call ", shown(method_), " with");
    for (int v : args_) r += str_cat(" ", v);
    return r;
  }

 private:
  py::object method_;
  std::vector<int> args_;  // with the object first
};

class MakePart final : public Effect {
 public:
  MakePart(int part, int whole, int place) : part_(part), whole_(whole), place_(place) {}
  void apply(Runner& r) const override {
    const py::object part = r.make(part_), whole = r.make(whole_), place = r.make(place_);
    make_part(part.ptr(), whole.ptr(), place.ptr());
  }
  std::string describe() const override { return str_cat(part_, " is ", whole_, "[", place_, "]"); }
  bool of_views() const override { return true; }

 private:
  int part_, whole_, place_;
};

// A Tensor that leaves is a view of one that others know, by ops and indices (null), one of
// another's result.
class MakeView final : public Effect {
 public:
  struct Step {
    const OpDef* op;
    int how;
  };
  // `own`: how it lies in what is known to be shared. That is all, where the steps are `sure` and
  // the whole is no view itself; others may pass through a copy, or show that there is none.
  MakeView(int part, int whole, std::vector<Step> steps, bool sure,
           const std::optional<Layout>& own, int64_t elements)
      : part_(part),
        whole_(whole),
        steps_(std::move(steps)),
        sure_(sure),
        own_(own),
        elements_(elements) {}
  void apply(Runner& r) const override {
    const py::object part = r.make(part_), whole = r.make(whole_);
    if (sure_ && own_ && !is_viewed(whole.ptr())) return make_view(part.ptr(), whole.ptr(), own_);
    make_view(part.ptr(), whole.ptr(), layout(r, whole));
    if (own_ && !own_->contiguous()) make_gaps(part.ptr(), *own_, elements_);
  }
  bool of_views() const override { return true; }
  std::string describe() const override {
    std::string t = str_cat(part_, " is a view of ", whole_, " by");
    for (auto& s : steps_)
      t += str_cat(" ", s.op ? s.op->name + "(" : "[", s.how, s.op ? ")" : "]");
    return t;
  }

 private:
  std::optional<Layout> layout(Runner& r, const py::object& whole) const {
    std::optional<Layout> l = layout_of(whole.ptr());
    for (auto& s : steps_) {
      const py::object how = r.make(s.how);
      if (!l) break;
      if (!s.op) {
        EagerBuilder b;
        std::vector<IndexItem> items;
        parse_eager_index(b, how.ptr(), array_of(whole.ptr())->type.device, &items);
        l = layout_of(*l, items);
        continue;
      }
      Attrs attrs;
      for (size_t k = 0; k < s.op->attrs.size(); ++k)
        attrs.push_back(to_attr(*s.op, s.op->attrs[k],
                                PyTuple_GET_ITEM(how.ptr(), static_cast<Py_ssize_t>(k))));
      const Type of{DType::F32, l->shape};
      const Type* const in[] = {&of};
      l = layout_of(*l, *s.op, attrs, s.op->infer(InferCtx{{*s.op, attrs}, in}).shape);
    }
    return l;
  }

  int part_, whole_;
  std::vector<Step> steps_;
  bool sure_;
  std::optional<Layout> own_;
  int64_t elements_;
};

class MakeGaps final : public Effect {
 public:
  MakeGaps(int view, const Layout& l, int64_t elements)
      : view_(view), elements_(elements), layout_(l) {}
  void apply(Runner& r) const override { make_gaps(r.make(view_).ptr(), layout_, elements_); }
  std::string describe() const override { return str_cat(view_, " is a view with gaps"); }
  bool of_views() const override { return true; }

 private:
  int view_;
  int64_t elements_;
  Layout layout_;
};

class StoreInNdarray final : public Effect {
 public:
  StoreInNdarray(int view, int place, int output) : view_(view), place_(place), output_(output) {}
  void apply(Runner& r) const override {
    const py::object view = r.make(view_);
    const Array& value = *r.output(output_);
    if (place_ < 0) return store_in_ndarray(view.ptr(), value);
    const py::object place = r.make(place_);
    const auto part = py::reinterpret_steal<py::object>(PyObject_GetItem(view.ptr(), place.ptr()));
    if (!part) throw py::error_already_set();
    if (is_followed_ndarray(part.ptr())) return store_in_ndarray(part.ptr(), value);
    check(PyObject_SetItem(view.ptr(), place.ptr(), new_numpy_scalar(value).ptr()));
  }
  std::string describe() const override {
    return str_cat("store in ", view_, place_ < 0 ? "" : str_cat("[", place_, "]"), " output ",
                   output_);
  }

 private:
  int view_, place_;  // -1: all of it
  int output_;
};

}  // namespace

void Context::log(Note n) {
  if (n.target ? n.target->src >= 0 : n.kind == Note::kSetGlobal) check_removed(*this, n);
  const bool moves = n.kind == Note::kExtend || n.kind == Note::kDelItem || n.kind == Note::kCall ||
                     (n.kind == Note::kSetItem && as<SliceValue>(n.values[0]));
  if (moves && as<GrowingSequence>(n.target)) moved_.insert(n.target);
  journal_.push_back(std::move(n));
}

// Tensors that leave and are parts of tensors that others know.
void Outcome::make_parts() {
  std::vector<TensorValue*> parts;
  for (auto& [v, id] : recipe_of_)
    if (auto* t = as<TensorValue>(const_cast<Value*>(v)); t && t->src < 0 && t->origin)
      parts.push_back(t);
  std::sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a->serial < b->serial; });
  for (size_t k = 0; k < parts.size(); ++k) {
    TensorValue *part = parts[k], *whole = part->origin, *nearest = whole;
    while (!is_known_outside(nearest) && nearest->origin) nearest = nearest->origin;
    if (!is_known_outside(nearest)) continue;
    if (!is_known_outside(whole)) parts.push_back(whole);
    const int ids[] = {recipe(part), recipe(whole), recipe(part->place)};
    entry_->effects.push_back(std::make_unique<MakePart>(ids[0], ids[1], ids[2]));
  }
}

// Tensors that leave and share elements with others that are known outside.
void Outcome::make_views() {
  auto base_of = [](const TensorValue* t) { return t->base ? t->base : t->doubted; };
  std::vector<TensorValue*> views, parts;
  for (auto& [v, id] : recipe_of_)
    if (auto* t = as<TensorValue>(const_cast<Value*>(v)); t && t->src < 0) {
      if (base_of(t)) views.push_back(t);
      if (t->origin) parts.push_back(t);
    }
  if (views.empty() && t_.views_.empty()) return;
  auto shown = [&](const TensorValue* v) {  // by a view of it
    return std::any_of(views.begin(), views.end(), [&](const TensorValue* t) {
      while (t && t != v) t = base_of(t);
      return t == v;
    });
  };
  auto seen = [&](const TensorValue* v) {  // can others see a change of it?
    for (; v; v = base_of(v) ? base_of(v) : v->origin)
      if (is_known_outside(v) || shown(v)) return true;
    return false;
  };
  auto make_known = [&](TensorValue* v) {
    if (is_known_outside(v)) return;
    recipe(v);
    if (base_of(v)) views.push_back(v);
    if (v->origin) parts.push_back(v);
  };
  for (size_t k = 0; k < parts.size(); ++k)
    if (TensorValue* whole = parts[k]->origin; seen(whole)) make_known(whole);
  // Views of one that is not known need it where they overlap.
  auto meets_another = [&](const TensorValue* t, const TensorValue* root) {
    return std::any_of(views.begin(), views.end(), [&](const TensorValue* other) {
      const TensorValue* top = other;
      while (top->base) top = top->base;
      return other != t && top == root && t->layout && other->layout &&
             overlap(*t->layout, *other->layout);
    });
  };
  struct Link {
    TensorValue *view, *whole;
  };
  std::vector<Link> links;
  for (size_t k = 0; k < views.size(); ++k) {
    TensorValue* nearest = base_of(views[k]);
    while (!is_known_outside(nearest) && base_of(nearest)) nearest = base_of(nearest);
    if (!is_known_outside(nearest) && !meets_another(views[k], nearest)) {
      if (const auto& l = views[k]->layout;
          l && !l->contiguous() && !nearest->last.shape().symbolic())
        entry_->effects.push_back(
            std::make_unique<MakeGaps>(recipe(views[k]), *l, nearest->last.shape().numel()));
      continue;
    }
    make_known(nearest);
    links.push_back({views[k], nearest});
  }
  auto depth = [&](const Link& l) {
    int n = 0;
    for (const TensorValue* t = l.view; t; t = base_of(t)) ++n;
    return std::pair(n, l.view->serial);
  };
  std::sort(links.begin(), links.end(), [&](auto& a, auto& b) { return depth(a) < depth(b); });
  for (auto& [view, whole] : links) {
    std::vector<MakeView::Step> steps;
    bool sure = !base_of(whole);
    const TensorValue* top = view;  // of what is surely shared
    for (const TensorValue* t = view; t != whole; t = base_of(t)) {
      steps.push_back({t->by, recipe(t->how)});
      sure = sure && t->base;
    }
    while (top->base) top = top->base;
    std::reverse(steps.begin(), steps.end());
    const int ids[] = {recipe(view), recipe(whole)};
    const Dim elements = top->last.shape().numel();
    entry_->effects.push_back(std::make_unique<MakeView>(
        ids[0], ids[1], std::move(steps), sure, elements.symbolic() ? std::nullopt : view->layout,
        elements.symbolic() ? 0 : static_cast<int64_t>(elements)));
  }
}

namespace {

// The journal as effects. Of several values that an attribute, a global, a cell or an item
// gets with no one to see them in between, the last one is set, at the place of the first.
class EffectsOf {
 public:
  using Note = Context::Note;
  EffectsOf(Context& c, Outcome& o)
      : c_(c),
        out_(o),
        journal_(c.journal_),
        dropped_(c.journal_.size()),
        last_(c.journal_.size()) {
    const auto& inputs = c.input_source_;
    for (size_t k = inputs.size(); k-- > 0;) input_of_source_[inputs[k]] = k;
    for (size_t k = 0; k < journal_.size(); ++k) look_back(k);
  }

  void write(Entry* e) {
    for (size_t k = 0; k < journal_.size(); ++k) {
      if (dropped_[k]) continue;
      if (journal_[k].kind == Note::kExtend)
        e->effects.push_back(extend(&k));
      else
        e->effects.push_back(effect(k));
    }
    write_first_assignments(e);
    // what is changed must be an object of its own at every call, as it was here
    for (auto& n : journal_)
      if (n.target && n.target->src >= 0) e->changed.push_back(n.target->src);
    std::sort(e->changed.begin(), e->changed.end());
    e->changed.erase(std::unique(e->changed.begin(), e->changed.end()), e->changed.end());
  }

 private:
  using Place = std::tuple<int, const Value*, PyObject*, std::string>;

  size_t input_of(const V& v) const {
    const auto it = input_of_source_.find(v->src);
    return it != input_of_source_.end() ? it->second : c_.input_source_.size();
  }

  void forget(const V& target) {
    set_items_.erase(target);
    for (auto it = pending_.begin(); it != pending_.end();)
      it = std::get<1>(it->first) == target ? pending_.erase(it) : std::next(it);
  }

  // The note that sets the same item first: k itself, if there is none.
  size_t first_of(const Note& n, size_t k) {
    const py::object& key = n.values[0]->obj;
    if (as<GrowingSequence>(n.target)) {  // from the front and from the back, it may be the same
      auto negative = [](py::handle i) { return i < py::int_(0); };
      const auto known = set_items_.find(n.target);
      if (known != set_items_.end() && negative((*known->second.begin()).first) != negative(key))
        forget(n.target);
    }
    return set_items_[n.target].attr("setdefault")(key, k).cast<size_t>();
  }

  // Does note k replace the value of an earlier one, or end what can be replaced?
  void look_back(size_t k) {
    const Note& n = journal_[k];
    switch (n.kind) {
      case Note::kSetAttr:
      case Note::kSetClass:
      case Note::kSetGlobal:
        return replace(pending_.try_emplace(place(n, text_of(n.name)), k).first->second, k);
      case Note::kSetCell: return replace(pending_.try_emplace(place(n, ""), k).first->second, k);
      case Note::kSetItem:
        if (is_known(n.values[0])) return replace(first_of(n, k), k);
        return forget(n.target);
      case Note::kPrint:
        pending_.clear();
        set_items_.clear();
        return;
      case Note::kAssign: return;
      case Note::kStore: return replace_stores(k);
      case Note::kExtend:  // items keep their indexes from the start alone
      case Note::kDelItem:
      case Note::kDelAttr:
      case Note::kCall: forget(n.target);
    }
  }
  // All of an array is stored anew: stores in it just before are seen by nobody.
  void replace_stores(size_t k) {
    const Note& n = journal_[k];
    if (n.values[0] != n.target || n.values[1]->obj.ptr() != Py_Ellipsis) return;
    for (size_t i = k; i > 0 && journal_[i - 1].kind == Note::kStore; --i)
      if (journal_[i - 1].target == n.target) dropped_[i - 1] = true;
  }
  static Place place(const Note& n, const std::string& name) {
    return {n.kind, n.target, n.globals.ptr(), name};
  }
  void replace(size_t first, size_t k) {
    if (first == k) return;
    last_[first] = journal_[k].values.back();
    dropped_[k] = true;
  }

  std::unique_ptr<const Effect> effect(size_t k) {
    const Note& n = journal_[k];
    const int target = n.target ? out_.recipe(n.target) : -1;
    auto value = [&](size_t i) {
      return out_.recipe(i + 1 == n.values.size() && last_[k] ? last_[k] : n.values[i]);
    };
    switch (n.kind) {
      case Note::kAssign: return assign(n, target);
      case Note::kSetAttr: return std::make_unique<SetAttr>(target, n.name, value(0));
      case Note::kSetClass: return std::make_unique<SetClassAttr>(target, n.name, value(0));
      case Note::kDelAttr: return std::make_unique<DelAttr>(target, n.name);
      case Note::kSetGlobal: return std::make_unique<SetGlobal>(n.globals, n.name, value(0));
      case Note::kSetCell: return std::make_unique<SetCell>(target, value(0));
      case Note::kPrint:
        return std::make_unique<Print>(n.name, out_.recipe(c_.tuple(n.values)), n.keywords);
      case Note::kSetItem: {
        const int given = value(1);
        return std::make_unique<SetItem>(target, value(0), given);
      }
      case Note::kDelItem: return std::make_unique<DeleteItem>(target, value(0));
      case Note::kStore: {
        const bool all = n.values[1]->obj.ptr() == Py_Ellipsis;
        return std::make_unique<StoreInNdarray>(value(0), all ? -1 : value(1),
                                                out_.output(n.values[2]->node()));
      }
      default: break;
    }
    std::vector<int> args{target};
    for (auto& v : n.values) args.push_back(out_.recipe(v));
    return std::make_unique<CallMethod>(n.name, std::move(args));
  }

  std::unique_ptr<const Effect> assign(const Note& n, int target) {
    const size_t i = input_of(n.target);
    const int input = i < c_.input_source_.size() ? static_cast<int>(i) : -1;
    return std::make_unique<AssignTensor>(target, out_.output(n.target->node(), input));
  }

  // Those of one list that follow one another are one. `k`: the last of them, then.
  std::unique_ptr<const Effect> extend(size_t* k) {
    const V target = journal_[*k].target;
    const int list = out_.recipe(target);
    std::vector<int> values;
    for (; *k < journal_.size() && journal_[*k].kind == Note::kExtend &&
           journal_[*k].target == target;
         ++*k)
      for (auto& v : journal_[*k].values) values.push_back(out_.recipe(v));
    --*k;
    return std::make_unique<ExtendList>(list, std::move(values));
  }

  void write_first_assignments(Entry* e) {
    e->assigned_first.resize(c_.input_source_.size());
    std::map<size_t, int> assigned;
    for (auto& n : journal_)
      if (n.kind == Note::kAssign) ++assigned[input_of(n.target)];
    for (auto& n : journal_) {
      if (n.kind != Note::kAssign) break;
      const size_t i = input_of(n.target);
      if (i < c_.input_source_.size() && assigned[i] == 1) e->assigned_first[i] = true;
    }
  }

  Context& c_;
  Outcome& out_;
  const std::vector<Note>& journal_;
  absl::flat_hash_map<int, size_t> input_of_source_;
  std::map<Place, size_t> pending_;
  std::vector<bool> dropped_;
  std::vector<V> last_;                         // the value that a note is given instead of its own
  std::map<const Value*, py::dict> set_items_;  // of containers: places of notes by key
};

}  // namespace

namespace {

// A break within a Cell that computes in a dtype of its own: what follows is to find it.
class ComputeIn final : public Effect {
 public:
  explicit ComputeIn(std::optional<DType> t) : dtype_(t) {}
  void apply(Runner&) const override { compute_dtype = dtype_; }
  std::string describe() const override {
    return str_cat("compute in ", dtype_ ? public_name_of(*dtype_) : "the operands' dtypes");
  }

 private:
  std::optional<DType> dtype_;
};

}  // namespace

void Outcome::make_effects() {
  EffectsOf(t_, *this).write(entry_.get());
  if (compute_dtype != t_.compute_dtype_at_start_)
    entry_->effects.push_back(std::make_unique<ComputeIn>(compute_dtype));
}

void Tracer::compute_in(std::optional<DType> t) {
  undoable([before = compute_dtype] { compute_dtype = before; });
  compute_dtype = t;
}

// The paths of numbers and texts whose values are guarded though the code itself gives them others:
// the next call would find them changed.
std::vector<uint64_t> own_changes(Context& c) {
  using Note = Context::Note;
  std::vector<uint64_t> paths;
  auto changes = [](const V& v, const py::object& old) {
    if (Py_TYPE(v->obj ? v->obj.ptr() : Py_None) != Py_TYPE(old.ptr())) return false;
    return is_input(v) || is_computed(v) ||
           (is_known(v) && !equal_constants(v->obj.ptr(), old.ptr()));
  };
  for (auto& n : c.journal_)
    if (n.kind == Note::kExtend || n.kind == Note::kSetItem || n.kind == Note::kDelItem ||
        n.kind == Note::kCall)
      c.start_.own_changes.insert(c.sources_[n.target->src].path);
  auto source_object = [&](int src) {  // of a module
    for (auto& [o, v] : c.known_)
      if (v->src == src) return o;
    return Py_None;
  };
  // What each source's object went through, and what happened to globals, by places in the journal.
  absl::flat_hash_map<int, std::vector<size_t>> of_source;
  std::vector<size_t> of_globals;
  for (size_t k = 0; k < c.journal_.size(); ++k) {
    const Note& n = c.journal_[k];
    if (n.kind == Note::kSetGlobal) of_globals.push_back(k);
    if (n.target && n.target->src >= 0) of_source[n.target->src].push_back(k);
  }
  for (auto& g : c.guards_) {
    PyObject* old = g.obj.ptr();
    if (g.kind != Guard::kEquals || c.start_.dynamic.count(c.sources_[g.src].path) ||
        (!PyLong_CheckExact(old) && !PyFloat_CheckExact(old) && !PyUnicode_CheckExact(old)))
      continue;
    const Source& s = c.sources_[g.src];
    auto same_key = [&](PyObject* key) {
      return s.key.ptr() == key || (s.key && equal_constants(s.key.ptr(), key));
    };
    std::vector<size_t> notes = of_globals;
    if (const auto it = of_source.find(s.parent); it != of_source.end()) {
      notes.insert(notes.end(), it->second.begin(), it->second.end());
      std::inplace_merge(notes.begin(),
                         notes.end() - static_cast<std::ptrdiff_t>(it->second.size()), notes.end());
    }
    bool changed = false;  // by the last effect on it
    for (const size_t k : notes) {
      const Note& n = c.journal_[k];
      const bool parent = n.target && n.target->src >= 0 && n.target->src == s.parent;
      switch (n.kind) {
        case Note::kSetAttr:
          if (parent && (s.kind == Source::kDictAttr || s.kind == Source::kSlot) &&
              same_key(n.name.ptr()))
            changed = changes(n.values[0], g.obj);
          break;
        case Note::kSetClass:
          if (parent && s.kind == Source::kAttr && same_key(n.name.ptr()))
            changed = changes(n.values[0], g.obj);
          break;
        case Note::kSetGlobal:
          if ((s.kind == Source::kGlobal && s.key.is(n.globals) &&
               equal_constants(c.sources_[s.parent].key.ptr(), n.name.ptr())) ||
              (s.kind == Source::kDictAttr && same_key(n.name.ptr()) &&
               PyModule_Check(source_object(s.parent)) &&
               PyModule_GetDict(source_object(s.parent)) == n.globals.ptr()))
            changed = changes(n.values[0], g.obj);
          break;
        case Note::kSetCell:
          if (parent && s.kind == Source::kCell) changed = changes(n.values[0], g.obj);
          break;
        case Note::kSetItem:
          if (parent && s.kind == Source::kDictItem && s.other < 0 && is_known(n.values[0]) &&
              same_key(n.values[0]->obj.ptr()))
            changed = changes(n.values[1], g.obj);
          changed |= parent && s.kind == Source::kLength;
          break;
        case Note::kExtend:
        case Note::kDelItem:
        case Note::kCall: changed |= parent && s.kind == Source::kLength; break;
        default: break;
      }
    }
    if (changed) paths.push_back(s.path);
  }
  return paths;
}

}  // namespace pijit
