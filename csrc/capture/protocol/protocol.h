// Python's operations on any values. Each algorithm is here once, in the order of the function of
// CPython that is named beside it: which operand is asked first, what counts as an answer, what
// comes where none is given. What a kind of value does itself is a slot of Value.
#pragma once
#include "capture/context.h"

namespace pijit::protocol {

// Where CPython finds a slot absent.
[[noreturn]] void raise_type_error(Context& c, const std::string& text);

// --- number.cc
V unary(Context& c, UnaryOp op, const V& x);                  // PyNumber_Negative …, and `not`
V binary(Context& c, BinaryOp op, const V& a, const V& b);    // PyNumber_Add …: binary_op1
V in_place(Context& c, BinaryOp op, const V& a, const V& b);  // PyNumber_InPlaceAdd …: binary_iop1
// Where C code takes no operands of these types, as it is found out with others of the same types,
// its TypeError is raised. Code of the user's never runs.
void raise_if_refused(Context& c, PyObject* function, const std::vector<V>& args);
// What a function of the module operator gives for constants.
V on_constants(Context& c, const char* function, const std::vector<V>& args);

// --- compare.cc
V compare(Context& c, CompareOp op, const V& a, const V& b);  // PyObject_RichCompare
// `a is b`, and PyObject_RichCompareBool, as containers ask. Empty: only a run can tell.
std::optional<bool> identical(Context& c, const V& a, const V& b);
std::optional<bool> same_or_equal(Context& c, const V& a, const V& b);

// --- truth.cc. Empty: only a run can tell.
std::optional<bool> truth(Context& c, const V& v);       // PyObject_IsTrue
std::optional<bool> slot_truth(Context& c, const V& v);  // by the class alone

// --- item.cc
V length(Context& c, const V& v);                                      // PyObject_Size
V getitem(Context& c, const V& x, const V& index);                     // PyObject_GetItem
void setitem(Context& c, const V& x, const V& index, const V& value);  // PyObject_SetItem
void delitem(Context& c, const V& x, const V& index);                  // PyObject_DelItem
std::optional<bool> contains(Context& c, const V& box, const V& x);    // PySequence_Contains

// --- iteration.cc
V iter(Context& c, const V& x);                                // PyObject_GetIter
bool has_next(PyTypeObject* t);                                // PyIter_Check
bool next(Context& c, const V& it, V* value);                  // PyIter_Next; false: exhausted
std::optional<std::vector<V>> unpack(Context& c, const V& v);  // all items, known in advance
std::vector<V> items_of(Context& c, const V& v);               // the same, or gives up
// Calls f for each item of an iterable, as it comes.
template <class F>
void each(Context& c, const V& iterable, F f) {
  if (!iterable->iterable()) c.give_up(Reason::kUnsupportedIterable, iterable->type()->tp_name);
  const V it = iter(c, iterable);
  V item;
  while (next(c, it, &item)) {
    c.tick();
    f(item);
  }
}

// --- text.cc: PyObject_Str, PyObject_Repr, by the method's name. Empty: it has none that is known.
std::optional<V> text(Context& c, const V& v, const char* name);
std::optional<V> slot_text(Context& c, const V& v, const char* name);  // by the class alone
// PyObject_Format; `conversion`: of FORMAT_VALUE (1 str, 2 repr, 3 ascii). `spec`: null for none.
V format(Context& c, V value, int conversion, V spec);

// --- attribute.cc
// The method `name` of an object whose class is Python's, if it is a Python function there.
PyObject* user_method(Context& c, const V& v, const std::string& name);
V attribute(Context& c, const V& v, PyObject* name);                         // PyObject_GetAttr
std::optional<V> find_attribute(Context& c, const V& v, PyObject* name);     // empty: there is none
void set_attribute(Context& c, const V& v, PyObject* name, const V& value);  // PyObject_SetAttr
void delete_attribute(Context& c, const V& v, PyObject* name);               // PyObject_DelAttr
// PyObject_GenericGetAttr of an object of C code, all of whose attributes are its class's; of any
// object; and what __getattr__ gives where both find nothing.
std::optional<V> builtin_attribute(Context& c, const V& v, PyObject* name);
std::optional<V> object_attribute(Context& c, const V& v, PyObject* name);
std::optional<V> missing_attribute(Context& c, const V& v, PyObject* name);
// As the class's __setattr__ and __delattr__, and as object's (PyObject_GenericSetAttr).
void set_object_attribute(Context& c, const V& v, PyObject* name, const V& value);
void delete_object_attribute(Context& c, const V& v, PyObject* name);
void store_attribute(Context& c, const V& v, PyObject* name, const V& value);
// type.__getattribute__ and type.__setattr__
V class_attribute(Context& c, PyObject* found, int owner, PyObject* name);
void set_class_attribute(Context& c, const V& cls, PyObject* name, const V& value);
V written_class_attribute(Context& c, PyTypeObject* t, const std::string& name);  // null: none
// What tp_descr_get of a class's attribute gives for an object; what a C descriptor of its class
// does; the function of a JitFunction.
V bind(Context& c, const V& found, const V& self, PyTypeObject* owner);
V member(Context& c, const V& v, PyObject* name);
V behind(Context& c, const V& front);
// Of an object of C code, found without running Python code.
V c_attribute(Context& c, const V& v, const char* name);

// --- globals.cc
V load_global(Context& c, PyObject* globals, PyObject* name);
void set_global(Context& c, PyObject* globals, PyObject* name, const V& value);

// --- instance.cc
bool is_instance(Context& c, const V& v, PyObject* cls);     // PyObject_IsInstance
bool is_subclass(Context& c, PyObject* sub, PyObject* cls);  // PyObject_IsSubclass

// --- call.cc
V call(Context& c, const V& f, std::vector<V> args, Kwargs kwargs);  // PyObject_Call
V slot_call(Context& c, const V& f, std::vector<V> args,
            Kwargs kwargs);  // by __call__ of the class
V call_class(Context& c, PyTypeObject* t, std::vector<V>& args, Kwargs& kwargs);
// `d`: a method or slot in C of a class that `self` is an object of.
V call_descriptor(Context& c, PyObject* d, const V& self, std::vector<V>& args, Kwargs& kwargs);
V call_op_function(Context& c, PyObject* f, const std::vector<V>& args, const Kwargs& kwargs);
Kwargs keywords_of(Context& c, const V& dict);  // of f(**dict)
// A value for a result of C code, new at each run. Empty: there is none.
std::optional<V> fresh(Context& c, const py::object& o);
// C code without effects, run at capture on constants. `self`: of which f is a method.
V call_pure(Context& c, const py::object& f, const std::vector<V>& args, const Kwargs& kwargs,
            const std::string& name, const V& self = nullptr);
// A method of a constant, which has no effects. Null: it is none.
V call_constant_method(Context& c, const V& self, const std::string& name,
                       const std::vector<V>& args, const Kwargs& kwargs);
V call_op(Context& c, const OpDef& op, const std::vector<V>& args, const Kwargs& kwargs,
          bool views = false);  // its result is a view of the first operand
// Methods of `object`, as super() and object.__setattr__ reach them.
V call_object_method(Context& c, const std::string& name, const V& self,
                     const std::vector<V>& args);

}  // namespace pijit::protocol
