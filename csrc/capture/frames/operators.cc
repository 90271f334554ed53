// Instructions: attributes, operators and items.
#include "base/error.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {

int Tracer::step_attributes(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::LOAD_ATTR: st.back() = protocol::attribute(*this, st.back(), in.obj); break;
    case Op::LOAD_METHOD: {
      V v = protocol::attribute(*this, f.pop(), in.obj);
      push_callable(f, v);
      break;
    }
    case Op::LOAD_SUPER_ATTR: {
      auto a = f.popn(3);
      V proxy = protocol::call(*this, a[0], {a[1], a[2]}, {});
      V v = protocol::attribute(*this, proxy, in.obj);
      if (in.a)
        push_callable(f, v);
      else
        st.push_back(v);
      break;
    }
    case Op::STORE_ATTR: {
      V o = f.pop(), v = f.pop();
      protocol::set_attribute(*this, o, in.obj, v);
      break;
    }
    case Op::DELETE_ATTR: protocol::delete_attribute(*this, f.pop(), in.obj); break;
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return f.pc + 1;
}

int Tracer::step_operators(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::UNARY: {
      V x = f.pop();
      st.push_back(protocol::unary(*this, static_cast<UnaryOp>(in.a), x));
      break;
    }
    case Op::BINARY: {
      auto a = f.popn(2);
      const auto op = static_cast<BinaryOp>(in.a);
      st.push_back(in.b ? protocol::in_place(*this, op, a[0], a[1])
                        : protocol::binary(*this, op, a[0], a[1]));
      break;
    }
    case Op::COMPARE: {
      auto a = f.popn(2);
      st.push_back(protocol::compare(*this, static_cast<CompareOp>(in.a), a[0], a[1]));
      break;
    }
    case Op::IS_OP: {
      auto a = f.popn(2);
      auto r = protocol::identical(*this, a[0], a[1]);
      if (!r) give_up(Reason::kUnsupportedOperand, "identity of values");
      st.push_back(constant(py::bool_(*r != static_cast<bool>(in.a))));
      break;
    }
    case Op::CONTAINS_OP: {
      auto a = f.popn(2);
      auto r = protocol::contains(*this, a[1], a[0]);
      if (!r) give_up(Reason::kUnsupportedOperand, "membership test");
      st.push_back(constant(py::bool_(*r != static_cast<bool>(in.a))));
      break;
    }
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return f.pc + 1;
}

int Tracer::step_items(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::BINARY_SUBSCR: {
      auto a = f.popn(2);
      st.push_back(protocol::getitem(*this, a[0], a[1]));
      meet(f, st.back(), 0);
      break;
    }
    case Op::STORE_SUBSCR: {
      auto a = f.popn(3);
      protocol::setitem(*this, a[1], a[2], a[0]);
      break;
    }
    case Op::BINARY_SLICE:
    case Op::STORE_SLICE: {
      auto a = f.popn(2);
      const V s = make<SliceValue>(a[0], a[1], constant(py::none()));
      V x = f.pop();
      if (in.op == Op::BINARY_SLICE)
        st.push_back(protocol::getitem(*this, x, s));
      else
        protocol::setitem(*this, x, s, f.pop());
      break;
    }
    case Op::DELETE_SUBSCR: {
      auto a = f.popn(2);
      protocol::delitem(*this, a[0], a[1]);
      break;
    }
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return f.pc + 1;
}

}  // namespace pijit
