// Instructions: containers, texts, and what `match` asks of them.
#include "base/error.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {
namespace {

V joined(Context& c, const std::vector<V>& pieces) {
  if (std::any_of(pieces.begin(), pieces.end(), is_input))
    if (V r = at_each_run(c, original("join"), {c.tuple(pieces)})) return r;
  py::list parts;
  for (auto& v : pieces) {
    const auto o = as_constant(c, v);
    if (!o) c.give_up(Reason::kUnsupportedOperand, "string");
    parts.append(*o);
  }
  return c.constant(py::str("").attr("join")(parts));
}

V dict_of(Context& c, const std::vector<V>& keys, const std::vector<V>& values) {
  auto* d = c.make<DictValue>();
  for (size_t k = 0; k < keys.size(); ++k) protocol::setitem(c, d, keys[k], values[k]);
  return d;
}

// BUILD_…: the new object.
V built(Context& c, Frame& f, const Instr& in) {
  switch (in.op) {
    case Op::BUILD_TUPLE: return c.tuple(f.popn(in.a));
    case Op::BUILD_LIST: return c.list(f.popn(in.a));
    case Op::BUILD_SET: return set_of(c, f.popn(in.a));
    case Op::BUILD_STRING: return joined(c, f.popn(in.a));
    case Op::BUILD_CONST_KEY_MAP: {
      const V names = f.pop();
      return dict_of(c, protocol::items_of(c, names), f.popn(in.a));
    }
    case Op::BUILD_MAP: {  // keys and values in turn
      const auto a = f.popn(2 * in.a);
      std::vector<V> keys, values;
      for (size_t k = 0; k < a.size(); ++k) (k % 2 ? values : keys).push_back(a[k]);
      return dict_of(c, keys, values);
    }
    case Op::BUILD_SLICE: {
      const auto a = f.popn(in.a);
      return c.make<SliceValue>(a[0], a[1], in.a == 3 ? a[2] : c.constant(py::none()));
    }
    default: PIJIT_CHECK(false, "no object is built");
  }
}

void add_to_set(Context& c, const V& set, const char* method, const V& x) {
  std::vector<V> args{x};
  Kwargs none;
  if (!set->method(c, method, args, none))
    c.give_up(Reason::kUnsupportedOperand, str_cat(method, " of a set"));
}

// `merge`: of keywords, none of which may come twice.
void add_to_dict(Context& c, DictValue* d, const V& v, bool merge) {
  auto* from = as<DictValue>(v);
  if (!from) c.give_up(Reason::kUnsupportedOperand, "dict update");
  from->settle(c);
  for (size_t k = 0; k < from->keys.size(); ++k) {
    if (merge && d->place_of(c, from->keys[k].ptr()) >= 0)
      c.give_up(Reason::kRaises, "repeated keyword");
    protocol::setitem(c, d, key_value(c, from->keys[k].ptr()), from->item(c, k));
  }
}

// What comprehensions and displays with * add to an object further down on the stack.
void add_below(Context& c, Frame& f, const Instr& in) {
  const V x = f.pop();
  if (in.op == Op::MAP_ADD) {  // x is the value
    const V key = f.pop();
    return protocol::setitem(c, f.stack[f.stack.size() - in.a], key, x);
  }
  const V to = f.stack[f.stack.size() - in.a];
  switch (in.op) {
    case Op::SET_ADD: return add_to_set(c, to, "add", x);
    case Op::SET_UPDATE: return add_to_set(c, to, "update", x);
    case Op::LIST_APPEND: return as<ListValue>(to)->extend(c, {x});
    case Op::LIST_EXTEND: return as<ListValue>(to)->extend(c, protocol::items_of(c, x));
    default: return add_to_dict(c, as<DictValue>(to), x, in.op == Op::DICT_MERGE);
  }
}

void unpack(Context& c, Frame& f, const V& x, size_t count) {
  if (auto* a = as<NdarrayValue>(x); a && !a->scalar && a->is_followed(c)) {
    const auto rows = a->rows(c, count);
    f.stack.insert(f.stack.end(), rows.rbegin(), rows.rend());
    return;
  }
  const auto items = protocol::unpack(c, x);
  if (!items) c.give_up(Reason::kUnsupportedIterable, x->type()->tp_name);
  if (items->size() != count) c.give_up(Reason::kRaises, "wrong number of values to unpack");
  for (size_t k = count; k-- > 0;) f.stack.push_back((*items)[k]);
}

// a, *b, c = x
void unpack_some(Context& c, Frame& f, const V& x, size_t before, size_t after) {
  const auto items = protocol::items_of(c, x);
  if (items.size() < before + after) c.give_up(Reason::kRaises, "not enough values to unpack");
  for (size_t k = items.size(); k-- > items.size() - after;) f.stack.push_back(items[k]);
  f.stack.push_back(c.list({items.begin() + static_cast<std::ptrdiff_t>(before),
                            items.end() - static_cast<std::ptrdiff_t>(after)}));
  for (size_t k = before; k-- > 0;) f.stack.push_back(items[k]);
}

}  // namespace

int Tracer::step_containers(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::SET_ADD:
    case Op::SET_UPDATE:
    case Op::LIST_APPEND:
    case Op::LIST_EXTEND:
    case Op::MAP_ADD:
    case Op::DICT_UPDATE:
    case Op::DICT_MERGE: add_below(*this, f, in); break;
    case Op::FORMAT_VALUE: {
      const V spec = in.a & 4 ? f.pop() : nullptr, value = f.pop();
      st.push_back(protocol::format(*this, value, in.a & 3, spec));
      break;
    }
    case Op::CONVERT_VALUE: st.push_back(protocol::format(*this, f.pop(), in.a, nullptr)); break;
    case Op::LIST_TO_TUPLE: st.push_back(tuple(protocol::items_of(*this, f.pop()))); break;
    case Op::UNPACK_SEQUENCE: unpack(*this, f, f.pop(), static_cast<size_t>(in.a)); break;
    case Op::UNPACK_EX:
      unpack_some(*this, f, f.pop(), static_cast<size_t>(in.a & 255),
                  static_cast<size_t>(in.a >> 8));
      break;
    case Op::GET_LEN: st.push_back(protocol::length(*this, st.back())); break;
    case Op::MATCH_KIND:
      st.push_back(constant(py::bool_(
          PyType_HasFeature(st.back()->type(), in.a ? Py_TPFLAGS_MAPPING : Py_TPFLAGS_SEQUENCE))));
      break;
    case Op::MATCH_KEYS:
      st.push_back(call_polyfill("match_keys", {st[st.size() - 2], st.back()}));
      break;
    case Op::MATCH_CLASS: {
      auto a = f.popn(3);
      a.push_back(constant_int(in.a));
      st.push_back(call_polyfill("match_class", a));
      break;
    }
    default: st.push_back(built(*this, f, in));
  }
  return f.pc + 1;
}

}  // namespace pijit
