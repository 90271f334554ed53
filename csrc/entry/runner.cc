#include "entry/runner.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/config.h"
#include "base/log.h"
#include "base/gil.h"
#include "objects/ndarray.h"
#include "runtime/fp_status.h"

namespace pijit {

bool tape_needs_single_ops() {
  const auto& active = Tape::active();
  return active.size() > 1 || (!active.empty() && active[0]->use != Tape::kReverse);
}

void Runner::fetch(Inputs* inputs, bool hold) {
  const size_t n = e.inputs.size();
  auto& [in, give, held] = *inputs;
  in.resize(n);
  give.resize(n);
  if (hold) held.resize(n);
  const int* source = e.inputs.data();
  const PyTypeObject* tensors = tensor_type;  // a class of Tensors, mostly that of the next one
  for (size_t k = 0; k < n; ++k) {
    PyObject* o = values[source[k]];
    if (Py_TYPE(o) != tensors && is_tensor(o)) {
      tensors = Py_TYPE(o);
    } else if (Py_TYPE(o) != tensors) {
      ArrayRef number;
      if (is_followed_ndarray(o)) {
        number = new_external_array(
            instance.program->input_types[k], ndarray_fields(o)->data, [](void*) {}, nullptr);
      } else if (!PyFloat_Check(o) && !PyLong_Check(o)) {
        number = scalar_array(instance.program->input_types[k].dtype, bits_of_numpy_scalar(o));
      } else if (PyFloat_Check(o)) {
        uint64_t bits;
        const double d = PyFloat_AS_DOUBLE(o);
        std::memcpy(&bits, &d, 8);
        number = scalar_array(DType::F64, bits);
      } else {
        number = scalar_array(DType::I64, static_cast<uint64_t>(PyLong_AsLongLong(o)));
      }
      in[k] = number.get();
      if (hold)
        held[k] = std::move(number);
      else
        held.push_back(std::move(number));
      continue;
    }
    Array* const a = array_of(o).get();
    in[k] = a;
    if (a->of_one_element) [[unlikely]]
      Tape::check_read(a);
  }
  for (auto& b : instance.program->output_buffers) {
    if (b.donor < 0) continue;
    const auto k = static_cast<size_t>(b.donor);
    if (instance.donatable[k] && sole_owner(*in[k]))
      give[k] = e.assigned_first[k] ? Program::kGiveForGood : Program::kGive;
  }
  if (hold)
    for (size_t k = 0; k < n; ++k)
      if (!held[k]) held[k] = ArrayRef::share(in[k]);
}

// Other threads have run. Would the run read now what it read then? An entry without effects need
// not ask: it is as if it had run at once. Memory that was given is so no longer where somebody
// else got hold of it.
bool Runner::still_there(Inputs* inputs, const Recheck& recheck) const {
  if (e.effects.empty()) return true;
  Values now;
  if (!recheck(&now)) return false;
  auto& [in, give, held] = *inputs;
  for (auto [recipe, source] : e.from_sources)
    if (!made[static_cast<size_t>(recipe)].is(py::handle(now[source]))) return false;
  for (size_t k = 0; k < in.size(); ++k) {
    PyObject* o = now[e.inputs[k]];
    if (is_tensor(o)) {
      if (array_of(o).get() != in[k]) return false;
    } else if (is_followed_ndarray(o)) {
      if (ndarray_fields(o)->data != in[k]->data()) return false;
    } else if (!PyFloat_Check(o) && !PyLong_Check(o)) {
      const uint64_t bits = bits_of_numpy_scalar(o);
      if (std::memcmp(&bits, in[k]->data(), size_of(in[k]->type.dtype)) != 0) return false;
    } else if (PyFloat_Check(o)) {
      const double d = PyFloat_AS_DOUBLE(o);
      if (std::memcmp(&d, in[k]->data(), sizeof d) != 0) return false;
    } else {
      const int64_t i = PyLong_AsLongLong(o);
      if (std::memcmp(&i, in[k]->data(), sizeof i) != 0) return false;
    }
  }
  for (size_t k = 0; k < in.size(); ++k) {
    if (!give[k]) continue;
    held[k] = {};  // its Tensor has it
    if (!sole_owner(*in[k])) give[k] = Program::kKeep;
  }
  return true;
}

namespace {
// Stores of an entry come behind its reads: none of its other arrays may share their memory.
void check_apart(const Entry& e, const Values& values) {
  for (int k : e.stored)
    for (size_t i = 0; i < e.inputs.size(); ++i) {
      PyObject *a = values[e.inputs[static_cast<size_t>(k)]], *b = values[e.inputs[i]];
      OP_CHECK(static_cast<int>(i) == k || !is_followed_ndarray(b) || !may_overlap(a, b), kRuntime,
               "arrays that share memory");
    }
}
}  // namespace

bool Runner::compute(const Recheck* recheck) {
  if (!instance.program) return true;
  const Program& program = *instance.program;
  // Waits for other processes are without the GIL, whoever wants it.
  const bool unlocked =
      recheck &&
      (program.collects || (program.takes_long() && others_wait() && !instance.contended()));
  check_apart(e, values);
  Inputs inputs;
  fetch(&inputs, unlocked || program.loops || program.collects);
  const std::span<Array* const> in(inputs.in.data(), inputs.in.size());
  outputs.resize(program.outputs.size());
  auto back = [&] {
    const bool same = still_there(&inputs, *recheck);
    if (!program.collects) return instance.went(same);
    // Other processes have done their part: it is not run again. Nothing is written in place then.
    if (!same) std::fill(inputs.give.begin(), inputs.give.end(), Program::kKeep);
    return true;
  };
  auto run = [&] {
    if (Tape* tape = Tape::innermost()) {
      const absl::FunctionRef<bool()> ask = back;
      if (const auto done = compute_under(*tape, in, unlocked ? &ask : nullptr)) return *done;
    }
    if (unlocked) return program.run_unlocked(in, inputs.give.data(), outputs.data(), back);
    // While others are waited for, signals have their handlers, which may get hold of memory.
    program.run(in, program.collects ? nullptr : inputs.give.data(), outputs.data());
    return true;
  };
  if (!e.watches_flags && e.stored.empty()) [[likely]]
    return run();
  unsigned raised = 0;
  {
    const FpWatch watch;
    if (!run()) return false;
    raised = watch.raised();
  }
  OP_CHECK(!e.watches_flags || !raised || numpy_ignores(raised), kRuntime, "NumPy warns of this");
  if (!e.stored.empty())  // what is an input's memory is about to change
    for (auto& o : outputs)
      if (o && o->storage->free_external) {
        ArrayRef copy = new_array(o->type);
        std::memcpy(copy->data(), o->data(), o->type.bytes());
        o = std::move(copy);
      }
  return true;
}

// Nothing: nothing that the tape watches takes part.
std::optional<bool> Runner::compute_under(Tape& tape, std::span<Array* const> in,
                                          const absl::FunctionRef<bool()>* back) {
  std::vector<JointPartition::Leaf> leaf_of(in.size());
  std::vector<ArrayRef> leaves;
  for (size_t k = 0; k < in.size(); ++k)
    if (tape.watches(in[k])) {
      const int first = static_cast<int>(std::find(in.begin(), in.end(), in[k]) - in.begin());
      leaf_of[k] = {first, tape.is_leaf(in[k])};
      if (first == static_cast<int>(k)) leaves.push_back(ArrayRef::share(in[k]));
    }
  if (leaves.empty()) return std::nullopt;
  OP_CHECK(!e.own_gradients, kRuntime, "a gradient of the user's own");  // the plain run takes over
  const auto [slot, fresh] = instance.joint.emplace(leaf_of, nullptr);
  auto& d = slot->second;
  OP_CHECK(d || fresh, kRuntime, "this region has no gradient");  // found out before
  if (!d) {
    try {
      d = std::make_shared<JointPartition>(*instance.graph, leaf_of);
    } catch (const InternalError& e) {
      if (config().strict) throw;
      PIJIT_LOG("capture", "gradient of a region: ", e.what());
      throw OpError(OpError::kRuntime, e.what());  // the plain run takes over
    }
  }
  std::vector<ArrayRef> all(d->forward().outputs.size());
  if (!back)
    d->forward().run(in, nullptr, all.data());
  else if (!d->forward().run_unlocked(in, nullptr, all.data(), *back))
    return false;
  const size_t n = outputs.size();
  std::vector<ArrayRef> results;
  std::vector<size_t> place;  // of each result among the outputs
  for (size_t k = 0; k < n; ++k) {
    bool shared = std::any_of(in.begin(), in.end(), [&](auto* a) { return a == all[k].get(); });
    for (size_t i = 0; i < all.size(); ++i) shared |= i != k && all[i].get() == all[k].get();
    outputs[k] = shared ? alias_array(all[k], all[k]->type) : all[k];
    if (!d->depends(k)) continue;
    results.push_back(outputs[k]);
    place.push_back(k);
  }
  std::vector<ArrayRef> residuals(all.begin() + static_cast<std::ptrdiff_t>(n), all.end());
  tape.record_region(leaves, results,
                     [d, residuals, place, n](const std::vector<ArrayRef>& cts,
                                              const std::vector<ArrayRef>& so_far) {
                       for (Tape* t : Tape::active())
                         for (auto* given : {&cts, &so_far})
                           for (auto& a : *given)
                             OP_CHECK(!a || !t->watches(a.get()), kRuntime,
                                      "a captured function's gradient is one op: others cannot "
                                      "follow what it does");
                       std::vector<bool> present(n);
                       std::vector<Array*> args;
                       for (auto& r : residuals) args.push_back(r.get());
                       for (size_t k = 0; k < cts.size(); ++k)
                         if (cts[k]) {
                           present[place[k]] = true;
                           args.push_back(cts[k].get());
                         }
                       std::vector<bool> received;
                       for (auto& a : so_far) {
                         received.push_back(static_cast<bool>(a));
                         if (a) args.push_back(a.get());
                       }
                       const auto& [program, parts] = d->backward(present, received);
                       std::vector<ArrayRef> sums(program->outputs.size());
                       program->run_among_others(args, sums.data());
                       std::vector<std::pair<ArrayRef, ArrayRef>> grads(parts.size());
                       for (size_t k = 0, next = 0; k < parts.size(); ++k) {
                         if (parts[k] > 0) grads[k].first = sums[next++];
                         if (parts[k] > 1) grads[k].second = sums[next++];
                       }
                       return grads;
                     });
  return true;
}

namespace {
const py::object none;
}  // namespace

const py::object& Runner::make(int id) {
  if (id < 0) return none;
  if (made[id]) return made[id];
  constexpr int kDeepest = 50;
  if (depth >= kDeepest) make_parts(id);
  struct Deeper {
    int& n;
    explicit Deeper(int& n) : n(n) { ++n; }
    ~Deeper() { --n; }
  } deeper(depth);
  return build(id);
}

// Makes what a recipe needs without going deeper into the stack, which may be a small thread's.
void Runner::make_parts(int id) {
  std::vector<int> needed, todo{id};
  std::set<int> seen{id};
  while (!todo.empty()) {
    const int k = todo.back();
    todo.pop_back();
    if (k != id) needed.push_back(k);
    for (int part : e.recipes[k]->parts)
      if (part >= 0 && !made[part] && seen.insert(part).second) todo.push_back(part);
  }
  // Parts have smaller numbers than what they are parts of, but for those that lead back.
  std::sort(needed.begin(), needed.end());
  std::vector<int> empty;
  for (int k : needed)
    if ((made[k] = e.recipes[k]->allocate())) empty.push_back(k);
  for (int k : needed)
    if (!made[k]) build(k);
  for (int k : empty) e.recipes[k]->fill(*this, made[k]);
}

const py::object& Runner::build(int id) {
  const Recipe& r = *e.recipes[id];
  py::object o = r.allocate();
  if (o) {
    made[id] = o;
    r.fill(*this, o);
    return made[id];
  }
  return made[id] = r.make(*this);
}

void Runner::apply_effects() {
  for (auto& x : e.effects) x->apply(*this);
}

}  // namespace pijit
