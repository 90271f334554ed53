#include "runtime/device.h"

#include <algorithm>
#include <array>

#include "runtime/array.h"
#include "runtime/plugin.h"
#include "runtime/queue.h"

namespace pijit {
namespace {

// By number. A constant-initialised array: devices register from initialisers of other files.
constinit std::array<Device*, 16> devices{};
constinit std::array<DeviceQueue*, 16> queues{};

}  // namespace

std::unique_ptr<Kernel> Device::make_tiles(TileSpec) {
  throw InternalError(str_cat("device ", name(), " runs no tiles"));
}

bool register_device(Device* d) {
  PIJIT_CHECK(d->id.number < devices.size(), "too many devices");
  devices[d->id.number] = d;
  return true;
}

Device& device(DeviceId d) {
  PIJIT_CHECK(devices[d.number], "no device of number ", int{d.number});
  return *devices[d.number];
}

void register_queue(DeviceId d, DeviceQueue* q) { queues.at(d.number) = q; }
DeviceQueue* queue_of(DeviceId d) { return queues.at(d.number); }

namespace {
class ByHost : public OpKernel {
 public:
  ByHost(std::unique_ptr<OpKernel> k, const KernelRequest& r, Device& d)
      : kernel_(std::move(k)), in_(r.in), present_(r.present), out_(r.out), device_(d) {
    out_.device = {};
  }
  void run(const void* const* in, void* out) override {
    std::vector<ArrayRef> here;
    std::vector<const void*> args;
    for (size_t k = 0; k < in_.size(); ++k) {
      args.push_back(nullptr);
      if (!present_[k]) continue;
      Type t = in_[k];
      t.device = {};
      here.push_back(new_array(t));
      device_.to_host(here.back()->data(), in[k], t.bytes());
      args.back() = here.back()->data();
    }
    const ArrayRef result = new_array(out_);
    kernel_->run(args.data(), result->data());
    device_.from_host(out, result->data(), out_.bytes());
    device_.synchronize();  // before the result's memory goes
  }

 private:
  const std::unique_ptr<OpKernel> kernel_;
  const std::vector<Type> in_;
  const std::vector<bool> present_;
  Type out_;
  Device& device_;
};
}  // namespace

void serve_by_host(Device& d) {
  for (auto& op : OpTable::get().all()) {
    if (!device(DeviceId{}).kernels.has(op->name)) continue;
    if (op->is_collective()) {  // these kernels know of devices
      d.kernels.add(op->name, {"host", [](const KernelRequest& r, std::string*) {
                                 return device(DeviceId{}).kernels.make(r);
                               }});
      continue;
    }
    d.kernels.add(op->name, {"host",
                             [](const KernelRequest& r, std::string*) -> std::unique_ptr<OpKernel> {
                               KernelRequest here = r;
                               here.out.device = {};
                               for (auto& t : here.in) t.device = {};
                               return std::make_unique<ByHost>(
                                   device(DeviceId{}).kernels.make(here), r, device(r.out.device));
                             },
                             true});
  }
}

DeviceId find_device(std::string_view who, std::string_view name) {
  constexpr std::string_view kKnown[] = {"CPU", "GPU", "Ascend", "Davinci"};
  auto registered = [&]() -> std::optional<DeviceId> {
    const auto d = device_from_name(name);
    return d && devices[d->number] ? d : std::nullopt;
  };
  if (const auto d = registered()) return *d;
  std::string why;
  if (load_plugin(name, &why)) return registered().value();
  OP_CHECK(std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown), kValue, "[",
           who, "] there is no device '", name, "'; devices are called CPU, GPU and Ascend");
  throw OpError(OpError::kRuntime,
                str_cat("[", who, "] device '", name, "' is not available: this pijit has ",
                        device_list(), why.empty() ? "" : " (" + why + ")"));
}

}  // namespace pijit
