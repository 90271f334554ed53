// Reverse-mode differentiation over a list of recorded op applications. The eager tape and captured
// graphs use the same walker and the same vjp rules, so both give the same bits.
#pragma once
#include <functional>

#include "graph/graph.h"

namespace pijit {

// A cotangent as the walk adds it up. Its terms have places in the order of the whole walk, by
// which sums of values that may be one object can be checked to add in the order of the plain
// program.
struct Sum {
  Val value;
  Val alone = {};  // stands for the value if no more terms come; empty: the value itself
  int first = 0, last = 0, terms = 0;
};

// What a region passes on to an input. Where a branch passes nothing on, but another one does, the
// sum is -0.0, which adds nothing to any further term, and `alone` is the 0.0 of no gradient.
struct Received {
  Val sum = {}, alone = {};  // empty: nothing; the same as the sum
};

struct Record {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<Val> in;
  std::vector<Val> out;  // one, except for custom records
  // A gradient given by the user: cotangents of the inputs (Val{}: zero) from those of the outputs.
  std::function<std::vector<Val>(std::span<const Val> cts)> custom;
  // A record of no inputs that stands right behind what computed its only output, or before all
  // others: what goes on in place of the whole gradient of that value.
  std::function<Val(Val ct)> hook;
  // A region recorded as one: it also takes what its inputs have received so far, and gives the
  // sums, added up in the order in which its single ops would have added. Empty values: nothing;
  // zeros may stand for nothing only where the walk ends (`last`). `need`: the inputs that depend
  // on what is differentiated by.
  std::function<std::vector<Received>(std::span<const Sum> cts, std::span<const Sum> so_far,
                                      const std::vector<bool>& last, const std::vector<bool>& need)>
      region;
  // Which outputs depend on the varied ones of the inputs; empty: all.
  std::function<std::vector<bool>(const std::vector<bool>& varied)> reach;
};

// Which nodes a gradient by the varied ones of the inputs passes.
std::vector<bool> depending(const Graph& g, const std::vector<bool>& varied);

struct Seed {
  Val value, cotangent;
};

// The vjp rule of one op, applied: cotangents of its inputs, in their types. Val{}: zero, or not
// needed.
std::vector<Val> apply_vjp(Builder& b, const OpDef& op, const Attrs& attrs, std::span<const Val> in,
                           Val out, Val ct, const std::vector<bool>& need);

// Cotangents of `wrt`; zeros where nothing flows. Records stand in order of execution.
std::vector<Val> backward(Builder& b, std::span<const Record> records, std::span<const Seed> seeds,
                          std::span<const Val> wrt);
// The same as part of a longer walk: nothing where nothing flows. `last`: per wrt, whether zeros do
// as well, because nothing is computed from them. (0 times infinity would be NaN.)
std::vector<Received> backward_part(Builder& b, std::span<const Record> records,
                                    std::span<const Seed> seeds, std::span<const Val> wrt,
                                    const std::vector<bool>& last);

// Tangents of `of` from tangents of other values (Seed::cotangent holds the tangent).
std::vector<Val> pushforward(Builder& b, std::span<const Record> records,
                             std::span<const Seed> tangents, std::span<const Val> of);

// Which records compute what `of` needs; also those that may fail, if asked for.
std::vector<bool> needed_records(std::span<const Record> records, std::span<const Val> of,
                                 bool may_fail);

// The records of graph nodes [begin, end).
std::vector<Record> records_of(Graph& g, uint32_t begin, uint32_t end);

}  // namespace pijit
