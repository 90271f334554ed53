// Instructions: containers, texts, and what `match` asks of them.
#include "base/error.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {

int Tracer::step_containers(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::BUILD_TUPLE: st.push_back(tuple(f.popn(in.a))); break;
    case Op::BUILD_LIST: st.push_back(list(f.popn(in.a))); break;
    case Op::BUILD_SET: st.push_back(set_of(*this, f.popn(in.a))); break;
    case Op::SET_ADD: {
      V x = f.pop();
      const V set = st[st.size() - in.a];
      std::vector<V> args{x};
      Kwargs none;
      if (!set->method(*this, "add", args, none)) give_up(Reason::kUnsupportedOperand, "set");
      break;
    }
    case Op::SET_UPDATE: {
      V x = f.pop(), set = st[st.size() - in.a];
      std::vector<V> args{x};
      Kwargs none;
      if (!set->method(*this, "update", args, none))
        give_up(Reason::kUnsupportedOperand, "update of a set");
      break;
    }
    case Op::BUILD_MAP: {
      auto a = f.popn(2 * in.a);
      auto* d = make<DictValue>();
      for (int k = 0; k < in.a; ++k) protocol::setitem(*this, d, a[2 * k], a[2 * k + 1]);
      st.push_back(d);
      break;
    }
    case Op::BUILD_CONST_KEY_MAP: {
      V keys = f.pop();
      auto a = f.popn(in.a);
      auto* d = make<DictValue>();
      for (int k = 0; k < in.a; ++k) protocol::setitem(*this, d, item(*this, keys, k), a[k]);
      st.push_back(d);
      break;
    }
    case Op::BUILD_SLICE: {
      auto a = f.popn(in.a);
      st.push_back(make<SliceValue>(a[0], a[1], in.a == 3 ? a[2] : constant(py::none())));
      break;
    }
    case Op::BUILD_STRING: {
      py::list parts;
      const std::vector<V> pieces = f.popn(in.a);
      if (std::any_of(pieces.begin(), pieces.end(), is_input)) {
        if (V r = at_each_run(*this, original("join"), {tuple(pieces)})) {
          st.push_back(r);
          break;
        }
      }
      for (auto& v : pieces) {
        auto c = as_constant(*this, v);
        if (!c) give_up(Reason::kUnsupportedOperand, "string");
        parts.append(*c);
      }
      st.push_back(constant(py::str("").attr("join")(parts)));
      break;
    }
    case Op::FORMAT_VALUE: {
      const V spec = in.a & 4 ? f.pop() : nullptr, value = f.pop();
      st.push_back(protocol::format(*this, value, in.a & 3, spec));
      break;
    }
    case Op::LIST_APPEND:
    case Op::LIST_EXTEND: {
      V x = f.pop();
      V list = st[st.size() - in.a];
      as<ListValue>(list)->extend(
          *this, in.op == Op::LIST_APPEND ? std::vector<V>{x} : protocol::items_of(*this, x));
      break;
    }
    case Op::MAP_ADD: {
      auto a = f.popn(2);
      protocol::setitem(*this, st[st.size() - in.a], a[0], a[1]);
      break;
    }
    case Op::DICT_UPDATE:
    case Op::DICT_MERGE: {
      auto* from = as<DictValue>(f.pop());
      auto* d = as<DictValue>(st[st.size() - in.a]);
      if (!from) give_up(Reason::kUnsupportedOperand, "dict update");
      from->settle(*this);
      for (size_t k = 0; k < from->keys.size(); ++k) {
        if (in.op == Op::DICT_MERGE && d->place_of(*this, from->keys[k].ptr()) >= 0)
          give_up(Reason::kRaises, "repeated keyword");
        protocol::setitem(*this, d, key_value(*this, from->keys[k].ptr()), from->item(*this, k));
      }
      break;
    }
    case Op::LIST_TO_TUPLE: {
      auto items = protocol::unpack(*this, f.pop());
      if (!items) give_up(Reason::kUnsupportedIterable);
      st.push_back(tuple(*items));
      break;
    }
    case Op::UNPACK_SEQUENCE: {
      V x = f.pop();
      auto items = protocol::unpack(*this, x);
      if (!items) give_up(Reason::kUnsupportedIterable, x->type()->tp_name);
      if (static_cast<int>(items->size()) != in.a)
        give_up(Reason::kRaises, "wrong number of values to unpack");
      for (int k = in.a - 1; k >= 0; --k) st.push_back((*items)[k]);
      break;
    }
    case Op::UNPACK_EX: {
      const size_t before = in.a & 255, after = in.a >> 8;
      const auto items = protocol::items_of(*this, f.pop());
      if (items.size() < before + after) give_up(Reason::kRaises, "not enough values to unpack");
      for (size_t k = items.size(); k-- > items.size() - after;) st.push_back(items[k]);
      st.push_back(list({items.begin() + static_cast<std::ptrdiff_t>(before),
                         items.end() - static_cast<std::ptrdiff_t>(after)}));
      for (size_t k = before; k-- > 0;) st.push_back(items[k]);
      break;
    }
    case Op::GET_LEN: {
      st.push_back(protocol::length(*this, st.back()));
      break;
    }
    case Op::MATCH_KIND:
      st.push_back(constant(py::bool_(
          PyType_HasFeature(st.back()->type(), in.a ? Py_TPFLAGS_MAPPING : Py_TPFLAGS_SEQUENCE))));
      break;
    case Op::MATCH_KEYS: {
      const V keys = st.back(), subject = st[st.size() - 2];
      st.push_back(call_polyfill("match_keys", {subject, keys}));
      break;
    }
    case Op::MATCH_CLASS: {
      auto a = f.popn(3);
      a.push_back(constant_int(in.a));
      st.push_back(call_polyfill("match_class", a));
      break;
    }
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return f.pc + 1;
}

}  // namespace pijit
