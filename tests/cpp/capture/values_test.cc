// Kinds of values on their own: a context without frames stands for the interpreter.
#include <gtest/gtest.h>
#include <pybind11/embed.h>
#include <pybind11/eval.h>

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"

namespace pijit {
namespace {

class FakeContext final : public Context {
 public:
  FakeContext() : Context(start_) {}
  int outermost_instr() const override { return -1; }
  V call_function(const V&, std::vector<V>, Kwargs) override {
    give_up(Reason::kUnsupportedCall, "a call");
  }
  V call_known(PyObject*, std::vector<V>&, Kwargs&, const V&) override { return nullptr; }
  void meet_decorated(PyObject*) override {}
  std::string location() const override { return "test"; }
  std::string inner_module() const override { return ""; }
  bool resume_generator(const V&, V*, const V&, const V&) override { return false; }

  // An object from outside.
  V outside(const py::object& o) {
    held_.push_back(o);
    return wrap(o.ptr(), add_source({Source::kClosure, -1, next_++, {}}));
  }
  // An int that each call gives anew.
  V input(int64_t i) {
    held_.push_back(py::int_(i));
    return input_at(*this, held_.back().ptr(), add_source({Source::kClosure, -1, next_++, {}}));
  }
  V number(int64_t i) { return constant_int(i); }
  bool guarded(Guard::Kind kind) const {
    return std::any_of(guards_.begin(), guards_.end(), [&](auto& g) { return g.kind == kind; });
  }
  int64_t int_of(const V& v) {
    const auto i = as_int(*this, v);
    EXPECT_TRUE(i);
    return i.value_or(-1);
  }
  void take_back(size_t to) {
    while (undo_.size() > to) {
      undo_.back()();
      undo_.pop_back();
    }
  }
  V run(const V& v, const char* method, std::vector<V> args = {}) {
    Kwargs none;
    auto r = v->method(*this, method, args, none);
    EXPECT_TRUE(r) << method;
    return r.value_or(nullptr);
  }

 private:
  StartPoint start_{nullptr, {}};
  int next_ = 0;
};

py::object python(const char* text) {
  py::dict scope;
  scope["collections"] = py::module_::import("collections");
  scope["array"] = py::module_::import("array");
  return py::eval(text, scope);
}

TEST(Values, AListThatIsOnlyAppendedToIsGuardedByItsClass) {
  FakeContext c;
  const V l = c.outside(python("[1, 2, 3]"));
  c.run(l, "append", {c.number(7)});
  EXPECT_EQ(c.int_of(l->getitem(c, c.number(-1))), 7);
  EXPECT_EQ(c.guards_.size(), 1u);
  EXPECT_TRUE(c.guarded(Guard::kExact));
  EXPECT_EQ(c.journal_.size(), 1u);
}

TEST(Values, WhatIsReadOfAListIsGuarded) {
  FakeContext c;
  const V l = c.outside(python("[1, 2, 3]"));
  EXPECT_EQ(c.int_of(l->getitem(c, c.number(0))), 1);
  EXPECT_TRUE(c.guarded(Guard::kEquals));
  EXPECT_FALSE(c.guarded(Guard::kLength));
  const V it = l->iter(c);
  V x;
  int64_t sum = 0;
  while (protocol::next(c, it, &x)) sum += c.int_of(x);
  EXPECT_EQ(sum, 6);
  EXPECT_TRUE(c.guarded(Guard::kLength));
}

TEST(Values, ChangesOfAListAreTakenBack) {
  FakeContext c;
  const V l = c.outside(python("[1, 2, 3]"));
  const size_t before = c.undo_.size();
  c.run(l, "append", {c.number(4)});
  c.run(l, "insert", {c.number(0), c.number(0)});
  c.run(l, "reverse");
  EXPECT_EQ(c.int_of(l->getitem(c, c.number(0))), 4);
  c.run(l, "clear");
  EXPECT_EQ(c.int_of(l->length(c)), 0);
  c.take_back(before);
  EXPECT_TRUE(as<ListValue>(l)->is_open());
  EXPECT_EQ(c.int_of(l->getitem(c, c.number(0))), 1);
  EXPECT_EQ(c.int_of(l->getitem(c, c.number(-1))), 3);
}

TEST(Values, PythonsOwnErrorsAreRaised) {
  FakeContext c;
  const V l = c.outside(python("[1]")), d = c.outside(python("{}"));
  EXPECT_THROW(l->getitem(c, c.number(4)), Raised);
  EXPECT_THROW(l->setitem(c, c.number(4), c.number(1)), Raised);
  EXPECT_THROW(l->delitem(c, c.number(4)), Raised);
  EXPECT_THROW(d->getitem(c, c.number(4)), Raised);
  EXPECT_THROW(d->delitem(c, c.number(4)), Raised);
  EXPECT_THROW(d->setitem(c, c.list({}), c.number(1)), Raised);
}

TEST(Values, ADictIsGuardedByTheKeysThatWereAsked) {
  FakeContext c;
  const V d = c.outside(python("{'a': 1, 'b': 2}"));
  const V a = c.constant(py::str("a")), z = c.constant(py::str("z"));
  EXPECT_EQ(c.int_of(d->getitem(c, a)), 1);
  EXPECT_FALSE(*d->contains(c, z));
  EXPECT_FALSE(c.guarded(Guard::kKeys));
  d->setitem(c, z, c.number(5));
  EXPECT_TRUE(*d->contains(c, z));
  EXPECT_EQ(d->parts(c).size(), 3u);
  EXPECT_TRUE(c.guarded(Guard::kKeys));
}

TEST(Values, ADequeDropsWhatItsLengthDoesNotHold) {
  FakeContext c;
  const V q = c.outside(python("collections.deque([1, 2, 3], maxlen=3)"));
  c.run(q, "append", {c.number(4)});
  EXPECT_EQ(c.int_of(q->getitem(c, c.number(-1))), 4);
  EXPECT_FALSE(c.guarded(Guard::kLength));
  EXPECT_EQ(c.int_of(q->length(c)), 3);
  EXPECT_EQ(c.int_of(q->getitem(c, c.number(0))), 2);
  EXPECT_EQ(q->parts(c).size(), 3u);
  EXPECT_EQ(c.int_of(q->parts(c)[0]), 2);
}

TEST(Values, ASetKnowsWhatWasAddedAndAsksForTheRest) {
  FakeContext c;
  const V s = c.outside(python("{1, 2}"));
  c.run(s, "add", {c.number(9)});
  EXPECT_EQ(c.guards_.size(), 1u);
  EXPECT_TRUE(*s->contains(c, c.number(9)));
  EXPECT_FALSE(*s->contains(c, c.number(8)));
  c.run(s, "clear");
  EXPECT_FALSE(*s->contains(c, c.number(1)));
  EXPECT_EQ(c.int_of(s->length(c)), 0);
}

TEST(Values, ArraysGiveBackWhatTheyCanHold) {
  FakeContext c;
  const V b = c.outside(python("bytearray(b'a')"));
  c.run(b, "append", {c.number(7)});
  EXPECT_EQ(c.int_of(b->getitem(c, c.number(-1))), 7);
  EXPECT_THROW(c.run(b, "append", {c.number(256)}), Raised);
  const V f = c.outside(python("array.array('f')"));
  c.run(f, "append", {c.constant(py::float_(0.1))});
  EXPECT_EQ(PyFloat_AsDouble(f->getitem(c, c.number(-1))->obj.ptr()), 0.1f);
}

TEST(Values, WhatAKindDoesNotHaveEndsTheGraph) {
  FakeContext c;
  const V none = c.constant(py::none());
  const V s = c.make<SliceValue>(none, c.number(2), none);
  EXPECT_THROW(s->length(c), GraphBreak);
  EXPECT_THROW(s->getitem(c, none), GraphBreak);
  EXPECT_THROW(s->iter(c), GraphBreak);
  EXPECT_TRUE(*s->truth(c));
  EXPECT_EQ(s->parts(c).size(), 3u);
  EXPECT_TRUE(s->object(c, Ask::kAnything)->equal(python("slice(None, 2, None)")));
}

TEST(Values, ANumberIsFixedUnderAGuardThatIsTakenBack) {
  FakeContext c;
  const V n = c.input(5);
  EXPECT_TRUE(is_input(n) && varies(n));
  const size_t before = c.undo_.size();
  EXPECT_EQ(c.int_of(n), 5);
  EXPECT_TRUE(is_known(n));
  EXPECT_TRUE(c.guarded(Guard::kEquals));
  c.take_back(before);
  EXPECT_TRUE(is_input(n));
  EXPECT_FALSE(c.guarded(Guard::kEquals));
  EXPECT_THROW(fix(c, c.make<ScalarValue>(py::float_(0.0), ScalarValue::Computed{})), GraphBreak);
}

TEST(Values, AnInputIsComputedAnewWithWhatFollowsFromIt) {
  FakeContext c;
  const V n = c.input(5), m = scalar_arithmetic(c, BinaryOp::kMul, n, c.number(3));
  ASSERT_TRUE(m && is_input(m));
  EXPECT_EQ(py::cast<int>(m->obj), 15);
  EXPECT_FALSE(c.guarded(Guard::kEquals));
  EXPECT_EQ(scalar_relation(c, CompareOp::kLt, m, c.number(20)), std::optional(true));
  EXPECT_TRUE(c.guarded(Guard::kRelation));
}

}  // namespace
}  // namespace pijit

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const pybind11::scoped_interpreter interpreter;
  pijit::init_names();
  return RUN_ALL_TESTS();
}
