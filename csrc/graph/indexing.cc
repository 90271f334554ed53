#include "graph/indexing.h"

#include <algorithm>

#include "base/called_as.h"
#include "graph/vals.h"

namespace pijit {
namespace {

struct Plan {
  Dims begin, end, step;  // the basic part, per axis of x
  struct Axis {           // what becomes of the sliced result, left to right
    enum { kKeep, kDrop, kNew, kTensor } what;
    Val tensor;
  };
  std::vector<Axis> axes;
  bool advanced = false;
};

Plan make_plan(Builder& b, Val x, std::span<const IndexItem> index) {
  Plan p;
  p.advanced = std::any_of(index.begin(), index.end(),
                           [](auto& it) { return it.kind == IndexItem::kTensor; });
  each_axis(x.type(), index, [&](const IndexItem* it, Dim begin, Dim end, Dim step) {
    const auto kind = it ? it->kind : IndexItem::kSlice;
    if (kind == IndexItem::kNewAxis) return p.axes.push_back({Plan::Axis::kNew, {}});
    if (kind == IndexItem::kInt && p.advanced) {  // beside tensors an integer is a tensor, too
      p.axes.push_back({Plan::Axis::kTensor, b.constant(DType::I64, SizeNumber(begin))});
      begin = 0;
      end = x.shape()[static_cast<int>(p.begin.size())];
    } else if (kind == IndexItem::kInt) {
      p.axes.push_back({Plan::Axis::kDrop, {}});
    } else if (kind == IndexItem::kSlice) {
      p.axes.push_back({Plan::Axis::kKeep, {}});
    } else {
      p.axes.push_back({Plan::Axis::kTensor, it->tensor});
    }
    p.begin.push_back(begin);
    p.end.push_back(end);
    p.step.push_back(step);
  });
  return p;
}

bool is_full(const Plan& p, const Shape& s) {
  for (int a = 0; a < s.rank(); ++a)
    if (!p.begin[a].same_as(0) || !p.end[a].same_as(s[a]) || !p.step[a].is_one()) return false;
  return true;
}

// The sliced tensor with dropped and new axes applied; tensor axes stay in place and are listed.
Shape basic_shape(const Plan& p, const Shape& sliced, std::vector<int>* tensor_axes) {
  Shape out;
  int a = 0;
  for (auto& x : p.axes) {
    if (x.what == Plan::Axis::kNew) {
      out.push_back(1);
      continue;
    }
    if (x.what != Plan::Axis::kDrop) {
      if (x.what == Plan::Axis::kTensor) tensor_axes->push_back(out.rank());
      out.push_back(sliced[a]);
    }
    ++a;
  }
  return out;
}

// Index tensors broadcast together and stacked on a last axis: [..., k].
Val stacked(Builder& b, const Plan& p, Shape* common) {
  std::vector<Val> ts;
  Shape s;
  for (auto& x : p.axes)
    if (x.what == Plan::Axis::kTensor) {
      OP_CHECK(is_int(x.tensor.dtype()), kIndex, "[getitem] index tensors must be integers, got ",
               x.tensor.type().str());
      s = ts.empty() ? x.tensor.shape() : broadcast_shapes("getitem", s, x.tensor.shape());
      ts.push_back(x.tensor);
    }
  *common = s;
  Shape last = s;
  last.push_back(1);
  for (auto& t : ts) {
    if (t.dtype() != DType::I64) t = v_cast(t, DType::I64);
    t = v_reshape(v_broadcast(t, s), last);
  }
  return ts.size() == 1 ? ts[0]
                        : b.op(OpTable::get().at("concat"), ts, {static_cast<int64_t>(s.rank())});
}

// Axes of x with the tensor axes first.
Dims front_perm(int rank, const std::vector<int>& tensor_axes) {
  Dims perm(tensor_axes.begin(), tensor_axes.end());
  for (int a = 0; a < rank; ++a)
    if (std::find(tensor_axes.begin(), tensor_axes.end(), a) == tensor_axes.end())
      perm.push_back(a);
  return perm;
}
Dims inverse(const Dims& p) {
  Dims inv(p.size());
  for (size_t i = 0; i < p.size(); ++i) inv[p[i]] = static_cast<int64_t>(i);
  return inv;
}
// NumPy puts the indexed dims where the tensors stood if those were adjacent, else first.
Dims result_perm(const std::vector<int>& tensor_axes, int index_rank, int rest) {
  bool adjacent = true;
  for (size_t i = 1; i < tensor_axes.size(); ++i)
    adjacent &= tensor_axes[i] == tensor_axes[i - 1] + 1;
  const int at = adjacent ? tensor_axes[0] : 0;
  Dims perm;
  for (int i = 0; i < at; ++i) perm.push_back(index_rank + i);
  for (int i = 0; i < index_rank; ++i) perm.push_back(i);
  for (int i = at; i < rest; ++i) perm.push_back(index_rank + i);
  return perm;
}

// What lies at places that only a run knows is taken first, axis by axis.
struct Take {
  Val from;  // what was before
  Val start;
  int axis;
};
bool takes_places(std::span<const IndexItem> index) {
  return std::any_of(index.begin(), index.end(),
                     [](const IndexItem& it) { return it.kind == IndexItem::kTake; });
}
Val take_places(Builder& b, Val x, std::vector<IndexItem>* index, std::vector<Take>* takes) {
  const auto uses_axis = [](const IndexItem& it) {
    return it.kind != IndexItem::kEllipsis && it.kind != IndexItem::kNewAxis;
  };
  int axis = 0, used = static_cast<int>(std::count_if(index->begin(), index->end(), uses_axis));
  OP_CHECK(used <= x.shape().rank(), kIndex, "[getitem] too many indices: ", used, " for ",
           x.type().str());
  for (auto& it : *index) {
    if (it.kind == IndexItem::kEllipsis) axis = x.shape().rank() - used;
    if (!uses_axis(it)) continue;
    if (it.kind == IndexItem::kTake) {
      takes->push_back({x, it.tensor, axis});
      x = b.op("dynamic_slice", {x, it.tensor}, {Dim(axis), it.length});
      it.kind = it.kept ? IndexItem::kSlice : IndexItem::kInt;
      it.i = 0;
    }
    ++axis;
    --used;
  }
  return x;
}
Val part_of(Builder& b, Val x, std::span<const IndexItem> index) {
  if (takes_places(index)) {
    std::vector<IndexItem> rest(index.begin(), index.end());
    std::vector<Take> takes;
    return part_of(b, take_places(b, x, &rest, &takes), rest);
  }
  const Plan p = make_plan(b, x, index);
  Val y = is_full(p, x.shape()) ? x : b.op("slice", {x}, {p.begin, p.end, p.step});
  std::vector<int> tensor_axes;
  const Shape s = basic_shape(p, y.shape(), &tensor_axes);
  if (!(y.shape() == s)) y = v_reshape(y, s);
  if (!p.advanced) return y;
  if (tensor_axes.size() == 1) {
    for (auto& a : p.axes)
      if (a.what == Plan::Axis::kTensor)
        return b.op("gather", {y, a.tensor}, {static_cast<int64_t>(tensor_axes[0])});
  }
  Shape common;
  const Val idx = stacked(b, p, &common);
  const Val got = b.op("gather_nd", {v_transpose(y, front_perm(s.rank(), tensor_axes)), idx});
  return v_transpose(got, result_perm(tensor_axes, common.rank(),
                                      s.rank() - static_cast<int>(tensor_axes.size())));
}

Val with_part(Builder& b, Val x, std::span<const IndexItem> index, Val value) {
  if (takes_places(index)) {
    std::vector<IndexItem> rest(index.begin(), index.end());
    std::vector<Take> takes;
    Val part = take_places(b, x, &rest, &takes);
    part = with_part(b, part, rest, value);
    for (size_t k = takes.size(); k-- > 0;)
      part =
          b.op("dynamic_update_slice", {takes[k].from, part, takes[k].start}, {Dim(takes[k].axis)});
    return part;
  }
  const Plan p = make_plan(b, x, index);
  if (value.dtype() != x.dtype()) value = v_cast(value, x.dtype());
  const bool full = is_full(p, x.shape());
  Val region = full ? x : b.op("slice", {x}, {p.begin, p.end, p.step});
  const Shape sliced = region.shape();
  std::vector<int> tensor_axes;
  const Shape s = basic_shape(p, sliced, &tensor_axes);
  Val updated;
  auto fit = [&](Shape to) {  // leading axes of 1 may be left out or be too many
    Shape v = value.shape();
    while (v.rank() > to.rank() && v[0] == 1) v.erase(0);
    return v_broadcast(v_reshape(value, v), to);
  };
  if (!p.advanced) {
    updated = v_reshape(fit(s), sliced);
  } else {
    Shape common;
    const Val idx = stacked(b, p, &common);
    const int rest = s.rank() - static_cast<int>(tensor_axes.size());
    const Dims perm = front_perm(s.rank(), tensor_axes),
               back = result_perm(tensor_axes, common.rank(), rest);
    Shape gathered = common;  // index dims, then the rest
    for (size_t k = tensor_axes.size(); k < perm.size(); ++k)
      gathered.push_back(s[static_cast<int>(perm[k])]);
    Shape seen;  // as the user's expression has it
    for (auto k : back) seen.push_back(gathered[static_cast<int>(k)]);
    const Val v = v_transpose(fit(seen), inverse(back));
    const Val t = v_transpose(v_reshape(region, s), perm);
    updated = v_reshape(
        v_transpose(b.op("scatter_nd", {t, idx, v}, {std::string("update")}), inverse(perm)),
        sliced);
  }
  return full ? updated : b.op("slice_update", {x, updated}, {p.begin, p.end, p.step});
}

}  // namespace

bool is_basic_index(std::span<const IndexItem> index) {
  auto is = [](IndexItem::Kind k) { return [k](auto& it) { return it.kind == k; }; };
  return std::none_of(index.begin(), index.end(), is(IndexItem::kTensor)) &&
         !std::all_of(index.begin(), index.end(), is(IndexItem::kEllipsis));
}

Val index_get(Builder& b, Val x, std::span<const IndexItem> index) {
  const bool gathers =
      std::any_of(index.begin(), index.end(), [](auto& i) { return i.kind == IndexItem::kTensor; });
  if (gathers) x = in_compute_dtype(b, x);
  return under_name("getitem", [&] { return part_of(b, x, index); });
}

std::optional<Val> masked_set(Val x, Val mask, Val value) {
  const Shape &s = x.shape(), &m = mask.shape();
  const int rest = s.rank() - m.rank();
  if (m.rank() == 0 || rest < 0) return std::nullopt;
  for (int k = 0; k < m.rank(); ++k)
    if (m[k] != s[k]) return std::nullopt;
  Shape v = value.shape(), wide = m;
  while (v.rank() > rest && v[0] == 1) v.erase(0);
  if (v.rank() > rest) return std::nullopt;
  for (int k = 1; k <= v.rank(); ++k)
    if (v[v.rank() - k] != 1 && v[v.rank() - k] != s[s.rank() - k]) return std::nullopt;
  for (int k = 0; k < rest; ++k) wide.push_back(1);
  return under_name("setitem", [&] {
    if (value.dtype() != x.dtype()) value = v_cast(value, x.dtype());
    return v_select(v_reshape(mask, wide), v_reshape(value, v), x);
  });
}

Val index_set(Builder& b, Val x, std::span<const IndexItem> index, Val value) {
  return under_name("setitem", [&] { return with_part(b, x, index, value); });
}

}  // namespace pijit
