// Reverse-mode differentiation over a list of recorded op applications. The eager tape and captured
// graphs use the same walker and the same vjp rules, so both give the same bits.
#pragma once
#include <functional>

#include "graph/graph.h"

namespace pijit {

struct Record {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<Val> in;
  std::vector<Val> out;  // one, except for custom records
  // A gradient given by the user: cotangents of the inputs (Val{}: zero) from those of the outputs.
  std::function<std::vector<Val>(std::span<const Val> cts)> custom;
  // A region recorded as one: it also takes what its inputs have received so far, and gives the
  // sums, added up in the order in which its single ops would have added. Val{}: nothing.
  std::function<std::vector<Val>(std::span<const Val> cts, std::span<const Val> so_far)> region;
};

struct Seed {
  Val value, cotangent;
};

// Cotangents of `wrt`; zeros where nothing flows. Records stand in order of execution.
std::vector<Val> backward(Builder& b, std::span<const Record> records, std::span<const Seed> seeds,
                          std::span<const Val> wrt);

// Tangents of `of` from tangents of other values (Seed::cotangent holds the tangent).
std::vector<Val> pushforward(Builder& b, std::span<const Record> records,
                             std::span<const Seed> tangents, std::span<const Val> of);

// The records of graph nodes [begin, end).
std::vector<Record> records_of(Graph& g, uint32_t begin, uint32_t end);

}  // namespace pijit
