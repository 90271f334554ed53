// Products with a matrix that comes transposed: the product's kernel, and one that transposes the
// matrix, once for as long as its memory is not written.
#include "cpu/cpu.h"
#include "runtime/device.h"
#include "runtime/packed.h"

namespace pijit {
namespace {

class MatmulTransposed : public OpKernel {
 public:
  MatmulTransposed(std::unique_ptr<OpKernel> product, std::unique_ptr<OpKernel> transpose, int side,
                   const Type& given)
      : product_(std::move(product)),
        transpose_(std::move(transpose)),
        side_(side),
        bytes_(given.bytes()),
        layout_(str_cat("transposed ", given.str())) {
    const int64_t rows = given.shape[0], columns = given.shape[1];
    order_ = Layout::in_order({{rows, columns, 1}, {columns, 1, rows}});
  }
  void run(const void* const* in, void* out) override {
    const Block transposed(bytes_);
    transpose_->run(in + side_, transposed.p);
    multiply(in, transposed.p, out);
  }
  int packs() const override { return side_; }
  void run_packed(const void* const* in, void* out, const OperandMemory& memory) override {
    const auto kept = packed_form(
        memory, layout_, bytes_, [&](void* to) { transpose_->run(in + side_, to); }, order_);
    kept ? multiply(in, kept->p, out) : run(in, out);
  }

 private:
  void multiply(const void* const* in, const void* transposed, void* out) {
    const void* operands[] = {in[0], in[1]};
    operands[side_] = transposed;
    product_->run(operands, out);
  }
  const std::unique_ptr<OpKernel> product_, transpose_;
  const int side_;
  const size_t bytes_;
  const std::string layout_;
  std::optional<Layout> order_;
};

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string*) {
  static const OpDef &product = OpTable::get().at("matmul"),
                     &transpose = OpTable::get().at("transpose");
  const KernelRegistry& kernels = device(DeviceId{}).kernels;
  const int side = r.ctx().flag("transpose_b") ? 1 : 0;
  const Type given = r.in[side];
  Type transposed = given;
  std::swap(transposed.shape[0], transposed.shape[1]);
  const Attrs attrs(r.attrs.begin(), r.attrs.end() - 1), perm{Dims{1, 0}};
  KernelRequest whole{product, attrs, r.in, r.present, r.out, r.fast};
  whole.in[side] = transposed;
  return std::make_unique<MatmulTransposed>(
      kernels.make(whole), kernels.make({transpose, perm, {given}, {true}, transposed}), side,
      given);
}

}  // namespace

KernelFamily transposed_kernels() { return {"transposed", {{"matmul_transposed", matmul}}}; }

}  // namespace pijit
