// CUDA C of loops. One source serves many sizes: what it depends on is the form, the body, the
// dtypes, the rank, which innermost strides are 0 or 1, whether elements are taken four at a time,
// whether rows or columns are few, and whether there are chunks; sizes, strides and addresses are
// arguments. Reduction trees are those of runtime/loop_spec.h, so that results have the CPU's bits,
// but for functions of libm, which are the toolkit's.
//
//   map   a thread per element, or per four
//   row   a group of threads per chunk of a row, a thread per lane (or several lanes a thread);
//         lanes fold by shuffles. Where chunks are few, all threads of a block compute a part of a
//         chunk, or of several rows, into shared memory, and a group combines each
//   col   all threads of a block compute a few rows of 8 to 32 columns into shared memory; a thread
//         per column combines them, in order
// Where there is more than one chunk, a second kernel folds them.
#pragma once
#include <string>
#include <vector>

#include "runtime/loop_spec.h"

namespace pijit::cuda {

// Everything that is compiled before loops: types, conversions, functions.
const std::string& prelude();

// What the kernels of a loop take: a struct of addresses, then of indices.
struct Arguments {
  std::vector<char> bytes;
  // The address of operand k (inputs, then outputs, then partial results, one per reduced output).
  void set_address(size_t k, const void* p);
};

struct Launch {
  std::string kernel;
  unsigned blocks = 1, threads = 1;
};

class Loop {
 public:
  // Why the loop cannot be emitted; empty: it can.
  static std::string refusal(const LoopSpec& s);
  // vectors: operands lie at multiples of 16 bytes, so that a thread may take several elements.
  explicit Loop(LoopSpec s, bool vectors = true);
  bool takes_vectors() const { return vector_ > 1; }

  // The kernels, without the prelude. They are called `name`, and `name`_fold if there is one.
  std::string source(const std::string& name) const;
  // Loops of equal keys have the same source.
  const std::string& key() const { return key_; }

  // Addresses are to be set.
  Arguments arguments() const;
  // In order of execution; none where nothing is to be computed.
  std::vector<Launch> launches(const std::string& name) const;
  // Bytes of the partial results of each reduced output; 0: rows have one chunk.
  std::vector<size_t> partial_bytes() const;

  const LoopSpec& spec() const { return spec_; }

 private:
  struct Sizes {
    // total: threads' work; rows: outer indices; n: elements to reduce; 1 << shift: elements of a
    // row that are computed at a time
    int64_t total, rows, n, chunks, shift;
  };
  Sizes sizes() const;
  bool wide() const;  // whether indices need 64 bits
  int group() const;  // threads per chunk
  int columns() const;
  LoopSpec spec_;
  int outer_;           // dims before the reduced one, or before the inner one
  int vector_ = 1;      // elements that a thread takes at once
  int columns_ = 0;     // of a tile, where columns are reduced
  bool tiled_ = false;  // whether what is combined passes through shared memory
  std::string key_;
};

}  // namespace pijit::cuda
