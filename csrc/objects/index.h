// Index expressions.
#pragma once
#include <functional>
#include <vector>

#include "eager/eager.h"
#include "graph/indexing.h"
#include "objects/operands.h"

namespace pijit {

// An index expression; tensors and lists become Vals of the builder through `tensor_val`. Returns
// false where the index needs data (boolean masks), which only eager code can serve.
bool parse_index(PyObject* index, std::vector<IndexItem>* items,
                 const std::function<Val(PyObject*)>& tensor_val);

// The same, eagerly, of a tensor on `home`, where lists and masks come to lie as well.
void parse_eager_index(EagerBuilder& b, PyObject* index, DeviceId home,
                       std::vector<IndexItem>* items);

}  // namespace pijit
