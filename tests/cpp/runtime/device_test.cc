// A second device, whose memory the host cannot touch: its addresses point nowhere. What the
// compiler and the runtime do with a device they must do through its interface.
#include "runtime/device.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/config.h"
#include "compile/compile.h"
#include "eager/tape.h"
#include "graph/vals.h"

namespace pijit {
namespace {

constexpr uintptr_t kMark = uintptr_t{1} << 62;  // no such address
template <class T>
T* real(T* p) {
  EXPECT_TRUE(!p || reinterpret_cast<uintptr_t>(p) & kMark) << "memory of the host on the device";
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(p) & ~kMark);
}
template <class T>
T* marked(T* p) {
  return p ? reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(p) | kMark) : p;
}

class OnMarked : public OpKernel {
 public:
  explicit OnMarked(std::unique_ptr<Kernel> k) : k_(std::move(k)) {}
  void run(const void* const* in, void* out) override {
    std::vector<const void*> i;
    for (size_t k = 0; k < count; ++k) i.push_back(real(in[k]));
    void* o = real(out);
    k_->launch(i.data(), &o);
  }
  size_t count = 0;

 private:
  std::unique_ptr<Kernel> k_;
};
class LoopOnMarked : public Kernel {
 public:
  LoopOnMarked(std::unique_ptr<Kernel> k, size_t in, size_t out)
      : k_(std::move(k)), in_(in), out_(out) {}
  void launch(const void* const* in, void* const* out) override {
    std::vector<const void*> i;
    std::vector<void*> o;
    for (size_t k = 0; k < in_; ++k) i.push_back(real(in[k]));
    for (size_t k = 0; k < out_; ++k) o.push_back(real(out[k]));
    k_->launch(i.data(), o.data());
  }
  std::string describe() const override { return "far " + k_->describe(); }

 private:
  std::unique_ptr<Kernel> k_;
  const size_t in_, out_;
};

Device& cpu() { return device(DeviceId{}); }

class Far : public Device {
 public:
  Far() : Device(add_device_name("far")) {
    for (auto& op : OpTable::get().all())
      if (cpu().kernels.has(op->name)) kernels.add(op->name, {"far", make});
  }
  void* allocate(size_t n) override {
    ++blocks;
    return marked(cpu().allocate(n));
  }
  void release(void* p, size_t n) override {
    --blocks;
    cpu().release(real(p), n);
  }
  size_t allocated_bytes() const override { return 0; }
  void from_host(void* to, const void* from, size_t n) override { std::memcpy(real(to), from, n); }
  void to_host(void* to, const void* from, size_t n) override { std::memcpy(to, real(from), n); }
  void copy(void* to, const void* from, size_t n) override { std::memcpy(real(to), real(from), n); }
  std::unique_ptr<Event> record(bool timed) override { return cpu().record(timed); }
  void synchronize() override {}
  DeviceFacts facts() const override { return {}; }
  std::unique_ptr<Kernel> make_loop(LoopSpec s) override {
    const size_t in = s.in.size(), out = s.out.size();
    return std::make_unique<LoopOnMarked>(cpu().make_loop(std::move(s)), in, out);
  }
  int blocks = 0;

 private:
  static std::unique_ptr<OpKernel> make(const KernelRequest& r, std::string*) {
    KernelRequest here = r;
    here.out.device = {};
    for (auto& t : here.in) t.device = {};
    auto k = std::make_unique<OnMarked>(cpu().kernels.make(here));
    k->count = r.in.size();
    return k;
  }
};

// Registered with the first test that asks for it: others see one device.
Far& far() {
  static Far* d = [] {
    auto* f = new Far;
    register_device(f);
    return f;
  }();
  return *d;
}

ArrayRef floats(std::vector<float> v, Shape s) {
  ArrayRef a = new_array(Type{DType::F32, s});
  std::memcpy(a->data(), v.data(), v.size() * 4);
  return a;
}
std::vector<float> values(const ArrayRef& a) {
  const ArrayRef here = array_on(a, {});
  std::vector<float> v(static_cast<size_t>(int64_t{here->type.shape.numel()}));
  std::memcpy(v.data(), here->data(), v.size() * 4);
  return v;
}

TEST(Device, NamesAndErrors) {
  EXPECT_EQ(cpu().name(), "CPU");
  EXPECT_EQ(find_device("Tensor", "CPU"), DeviceId{});
  try {
    find_device("Tensor", "GPU");
    FAIL();
  } catch (const OpError& e) {
    EXPECT_EQ(e.kind, OpError::kRuntime);
    EXPECT_NE(std::string(e.what()).find("this pijit has CPU"), std::string::npos) << e.what();
  }
  try {
    find_device("Tensor", "toaster");
    FAIL();
  } catch (const OpError& e) {
    EXPECT_EQ(e.kind, OpError::kValue);
  }
}

TEST(Device, ArraysMoveThereAndBack) {
  const ArrayRef a = floats({1, 2, 3}, {3});
  const int before = far().blocks;
  {
    const ArrayRef b = array_on(a, far().id);
    EXPECT_EQ(b->type.str(), "f32[3]@far");
    EXPECT_EQ(values(b), values(a));
    EXPECT_EQ(array_on(b, far().id).get(), b.get());
    EXPECT_FALSE(b->type == a->type);
    EXPECT_EQ(far().blocks, before + 1);
  }
  EXPECT_EQ(far().blocks, before);
}

TEST(Device, EagerOpsRunWhereOperandsLie) {
  EagerBuilder b;
  const Val x = b.wrap(array_on(floats({1, 2, 3, 4, 5, 6}, {2, 3}), far().id));
  const Val y = b.op("add", {b.op("mul", {x, b.constant(DType::F32, 2.0)}), x});
  EXPECT_EQ(y.type().device, far().id);
  EXPECT_EQ(values(b.array(y)), (std::vector<float>{3, 6, 9, 12, 15, 18}));
  const Val s = v_sum(y, {1}, false);
  EXPECT_EQ(values(b.array(s)), (std::vector<float>{18, 45}));
  const Val w = b.wrap(array_on(floats({1, 0, 0, 1, 1, 1}, {3, 2}), far().id));
  EXPECT_EQ(values(b.array(b.op("matmul", {x, w}))), (std::vector<float>{4, 5, 10, 11}));
  // A single element of the host's goes with them.
  const Val one = b.wrap(floats({1}, {}));
  EXPECT_EQ(values(b.array(b.op("add", {x, one})))[5], 7);
}

TEST(Device, MixingDevicesNamesBoth) {
  EagerBuilder b;
  const Val x = b.wrap(floats({1, 2}, {2})), y = b.wrap(array_on(floats({1, 2}, {2}), far().id));
  try {
    b.op("add", {x, y});
    FAIL();
  } catch (const OpError& e) {
    EXPECT_EQ(e.kind, OpError::kRuntime);
    EXPECT_NE(std::string(e.what()).find("CPU and far"), std::string::npos) << e.what();
  }
}

TEST(Device, ProgramsWithLiteralsRegionsAndDonatedMemory) {
  const Type t{DType::F32, Shape{4}, far().id};
  auto body = [&](double k) {
    auto g = std::make_shared<Graph>(false);
    const Val x = g->add_input(t);
    g->outputs = {{v_op("mul", x, g->constant(DType::F32, k)).id}};
    return g;
  };
  Graph g(false);
  const Val x = g.add_input(t), p = g.add_input(Type{DType::Bool, {}});
  const Val c =
      g.emit_region(OpTable::get().at("cond"), std::vector<Val>{p, x}, {body(2), body(3)});
  const Val r = g.result(c, 0);
  g.outputs = {{r.id}, {v_sum(r, {0}, false).id}, {g.constant(DType::F32, 7.0).id}, {x.id, 0}};
  config().verify = true;
  const auto program = compile(g);
  config().verify = false;
  EXPECT_EQ(&program->device, &far());
  for (bool flag : {true, false}) {
    ArrayRef in = array_on(floats({1, 2, 3, 4}, {4}), far().id);
    ArrayRef pred = scalar_array(DType::Bool, flag);
    Array* raw[] = {in.get(), pred.get()};
    ArrayRef out[4];
    program->run(raw, nullptr, out);
    const float k = flag ? 2 : 3;
    EXPECT_EQ(values(out[0]), (std::vector<float>{k, 2 * k, 3 * k, 4 * k}));
    EXPECT_EQ(values(out[1])[0], 10 * k);
    EXPECT_EQ(values(out[2])[0], 7);
  }
}

// Arms that hold single elements of the host's alone run where the rest of the graph does, and so
// do their operands by then.
TEST(Device, ArmsOfSingleElementsRunWhereTheGraphDoes) {
  const Type t{DType::F32, Shape{2}, far().id}, one{DType::F32, {}};
  auto arm = [&](double by) {
    auto g = std::make_shared<Graph>(false);
    const Val k = g->add_input(one);
    g->outputs = {{v_op("mul", k, g->constant(DType::F32, by)).id}};
    return g;
  };
  Graph g(false);
  const Val x = g.add_input(t), p = g.add_input(Type{DType::Bool, {}}), k = g.add_input(one);
  const Val c = g.emit_region(OpTable::get().at("cond"), std::vector<Val>{p, k}, {arm(2), arm(3)});
  g.outputs = {{v_op("mul", x, g.result(c, 0)).id}};
  const auto program = compile(g);
  for (bool flag : {true, false}) {
    const ArrayRef a = array_on(floats({1, 2}, {2}), far().id),
                   pred = scalar_array(DType::Bool, flag), by = floats({5}, {});
    Array* raw[] = {a.get(), pred.get(), by.get()};
    ArrayRef out;
    program->run(raw, nullptr, &out);
    const float f = flag ? 10 : 15;
    EXPECT_EQ(values(out), (std::vector<float>{f, 2 * f}));
  }
}

TEST(Device, GradientsRunThereToo) {
  const ArrayRef x = array_on(floats({1, 2, 3}, {3}), far().id);
  Tape tape;
  tape.watch(x);
  tape.start();
  EagerBuilder b;
  const Val v = b.wrap(x);
  const ArrayRef y = b.array(v_sum(b.op("mul", {v, v}), {0}, false));
  const ArrayRef back = moved(y, DeviceId{});
  tape.stop();
  EXPECT_TRUE(back->type.device.is_cpu());
  EXPECT_EQ(values(back)[0], 14);
  const ArrayRef ct = floats({1}, {});
  const ArrayRef outs[] = {back}, cts[] = {ct}, wrt[] = {x};
  const auto d = tape.gradient(outs, cts, wrt);
  EXPECT_EQ(d[0]->type.device, far().id);
  EXPECT_EQ(values(d[0]), (std::vector<float>{2, 4, 6}));
}

// What no operand places goes to the default device; a program for another one is not taken.
TEST(Device, OpsWithoutOperandsFollowTheDefault) {
  auto range = [] {
    EagerBuilder b;
    const Val one = b.constant(DType::F32, 1.0);
    return b.array(v_broadcast(one, Shape{3}));
  };
  EXPECT_TRUE(range()->type.device.is_cpu());
  set_default_device(far().id);
  EXPECT_EQ(range()->type.device, far().id);
  EXPECT_EQ(values(range()), (std::vector<float>{1, 1, 1}));
  set_default_device({});
  EXPECT_TRUE(range()->type.device.is_cpu());
}

TEST(Device, TypesSayWhere) {
  far();
  const std::string text = "graph(%0: f32[3]@far) {\n  %1: f32[3]@far = neg(%0)\n  return %1\n}\n";
  EXPECT_EQ(Graph::parse(text)->print(), text);
}

}  // namespace
}  // namespace pijit
