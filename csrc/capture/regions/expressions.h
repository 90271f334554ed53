// Expressions of whole arrays, as they are built: nodes, of which a loop's body is made once it is
// known where the result goes.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/regions/array_runs.h"
#include "capture/regions/statements.h"

namespace pijit::regions {

// --- dtypes
DType element_type(const Dtype& d);  // leaves where code has it not
bool is_element_type(const Dtype& d);
const Dtype& dtype_of_element(DType t);

// --- nodes
const ArrayNode& node(Emitter& e, int k);
int op_node(Emitter& e, SOp op, DType t, int a, int b = -1, int c = -1, bool flags = false);
Av array_of(int node);
// An operand, in its own dtype; a Python number has none.
int leaf(Emitter& e, const Av& a);
int number_leaf(Emitter& e, const Av& a, const Dtype& d);
int as_type(Emitter& e, int node, DType t);
// What is computed, as an array.
Av settled(Emitter& e, const Av& a);
Av any_number(Emitter& e, const Av& a);

// The larger or smaller one, as the ufuncs have it: the first one where it is no number, and no
// flags. `op(o, t, a, b, c)` makes an operation of the kind of V; `wins`: kGt or kLt.
template <class V, class Make>
V extreme(SOp wins, DType t, const V& x, const V& y, Make op) {
  const V first = op(SOp::kOr, DType::Bool, op(wins, DType::Bool, x, y, V{}),
                     op(SOp::kNe, DType::Bool, x, x, V{}), V{});
  return op(SOp::kSelect, t, first, x, y);
}

// --- functions
// What NumPy is asked of an operand.
py::object spec_of_operand(Emitter& e, const Av& a);
// The dtypes of a ufunc's loop for such operands, and of its result.
std::vector<const Dtype*> types_of_call(Emitter& e, PyObject* ufunc, const std::vector<Av>& args,
                                        const std::string& told);
// A ufunc whose bits instructions give; nothing: code has none that do it.
std::optional<Av> computed(Emitter& e, PyObject* ufunc, const std::vector<Av>& args);
// A loop of NumPy's own for these dtypes; null: there is none.
UfuncLoop loop_of(PyObject* ufunc, std::span<const Dtype* const> types, void** data);

// --- statements
// The body of a statement, and what it reads.
class BodyMaker {
 public:
  explicit BodyMaker(Emitter& e) : e_(e) {}
  SVal make(int node);
  SBuilder body;
  std::vector<ArrayNode> inputs;
  int place_of_input(const ArrayNode& n) const;

 private:
  int input(const ArrayNode& n);
  Emitter& e_;
  std::map<int, SVal> made_;
};

int words_of(Emitter& e, const void* words);
// Room for what tells where a statement's inputs lie.
void take_inputs(const std::vector<ArrayNode>& inputs, Statement* made);
// What a statement reads; it stores nothing yet.
std::shared_ptr<Statement> statement_of(const BodyMaker& maker, const ArrayNode& result,
                                        const SVal& value);
// Code that tells a statement where its operands lie. Its words.
int describe_inputs(Emitter& e, const std::vector<ArrayNode>& inputs, Statement& made);
// The steps that make a node, each behind those of what it is made of.
void add_layout(Emitter& e, const BodyMaker& maker, int node, Statement* made);

// What code calls for an array, which the region keeps.
template <class T>
Av made_by(Emitter& e, region::CallOut make, std::shared_ptr<T> what, const Dtype& d, int rank) {
  const int made =
      e.call(make, e.d.icon(reinterpret_cast<int64_t>(what.get())), e.d.arena(), e.d.icon(0));
  e.d.r->statements.push_back(std::move(what));
  return new_array(e, made, d, rank);
}

}  // namespace pijit::regions
