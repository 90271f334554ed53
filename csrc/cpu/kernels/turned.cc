// Products with a matrix that comes turned: the kernel of the product with the matrix as it should
// be, and one that turns it, once for as long as its memory is not written.
#include "cpu/cpu.h"
#include "runtime/device.h"
#include "runtime/packed.h"

namespace pijit {
namespace {

class Turned : public OpKernel {
 public:
  Turned(std::unique_ptr<OpKernel> product, std::unique_ptr<OpKernel> turn, int side,
         const Type& given)
      : product_(std::move(product)),
        turn_(std::move(turn)),
        side_(side),
        bytes_(given.bytes()),
        layout_(str_cat("turned ", given.str())) {}
  void run(const void* const* in, void* out) override {
    const Block turned(bytes_);
    turn_->run(in + side_, turned.p);
    multiply(in, turned.p, out);
  }
  int packs() const override { return side_; }
  void run_packed(const void* const* in, void* out, Storage& memory) override {
    const auto kept =
        packed_form(memory, layout_, bytes_, [&](void* to) { turn_->run(in + side_, to); });
    kept ? multiply(in, kept->p, out) : run(in, out);
  }

 private:
  void multiply(const void* const* in, const void* turned, void* out) {
    const void* operands[] = {in[0], in[1]};
    operands[side_] = turned;
    product_->run(operands, out);
  }
  const std::unique_ptr<OpKernel> product_, turn_;
  const int side_;
  const size_t bytes_;
  const std::string layout_;
};

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string*) {
  static const OpDef &product = OpTable::get().at("matmul"),
                     &transpose = OpTable::get().at("transpose");
  const KernelRegistry& kernels = device(DeviceId{}).kernels;
  const int side = r.ctx().flag("turned_b") ? 1 : 0;
  const Type given = r.in[side];
  Type turned = given;
  std::swap(turned.shape[0], turned.shape[1]);
  const Attrs attrs(r.attrs.begin(), r.attrs.end() - 1), perm{Dims{1, 0}};
  KernelRequest whole{product, attrs, r.in, r.present, r.out, r.fast};
  whole.in[side] = turned;
  return std::make_unique<Turned>(
      kernels.make(whole), kernels.make({transpose, perm, {given}, {true}, turned}), side, given);
}

}  // namespace

KernelFamily turned_kernels() { return {"turned", {{"matmul_turned", matmul}}}; }

}  // namespace pijit
