// OpenCL devices of the machine: found once, opened (context and queue) when first used.
#pragma once
#include <algorithm>
#include <mutex>
#include <vector>

#include "opencl_api.h"

namespace edgelab {

class ClDevice {
 public:
  ClDevice(cl_device device, cl_bitfield type) : device(device), type(type) {
    name = Text(kInfoName);
    max_work_group = Number<size_t>(kInfoWorkGroupSize);
    local_mem_bytes = Number<cl_ulong>(kInfoLocalMem);
    max_alloc_bytes = Number<cl_ulong>(kInfoMaxAlloc);
    Check(OpenCL::Get().GetDeviceInfo(device, kInfoWorkItemSizes, sizeof max_work_items, max_work_items, nullptr),
          "asking " + name + " for its work-item sizes");
  }

  std::string Text(cl_uint what) const {
    size_t size = 0;
    Check(OpenCL::Get().GetDeviceInfo(device, what, 0, nullptr, &size), "asking a device for a text");
    std::string text(size, '\0');
    Check(OpenCL::Get().GetDeviceInfo(device, what, size, text.data(), nullptr), "asking a device for a text");
    return text.c_str();
  }

  template <typename T>
  T Number(cl_uint what) const {
    T value{};
    Check(OpenCL::Get().GetDeviceInfo(device, what, sizeof value, &value, nullptr), "asking a device for a number");
    return value;
  }

  cl_context Context() { return Open(), context_; }
  cl_queue Queue() { return Open(), queue_; }

  const cl_device device;
  const cl_bitfield type;
  std::string name;
  size_t max_work_group = 0;
  size_t max_work_items[16] = {};  // The standard asks for at least three dimensions.
  cl_ulong local_mem_bytes = 0, max_alloc_bytes = 0;

 private:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queue_ != nullptr) return;
    const OpenCL& api = OpenCL::Get();
    cl_int code = kSuccess;
    cl_context context = api.CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    Check(code, "opening " + name);
    cl_queue queue = api.CreateCommandQueue(context, device, kQueueProfiling, &code);
    if (code != kSuccess) api.ReleaseContext(context);
    Check(code, "making a command queue on " + name);
    context_ = context;
    queue_ = queue;
  }

  std::mutex mutex_;
  cl_context context_ = nullptr;
  cl_queue queue_ = nullptr;
};

// All devices, GPUs first and CPUs last; `tvm.opencl(i)` is the i-th.
class ClDevices {
 public:
  static ClDevices& Get() {
    static ClDevices* devices = new ClDevices();
    return *devices;
  }

  // The device of an index. Throws if there is none.
  ClDevice& At(int64_t index) {
    if (!problem.empty()) TVM_FFI_THROW(RuntimeError) << "There is no OpenCL device: " << problem << ".";
    if (index < 0 || index >= static_cast<int64_t>(all.size())) {
      TVM_FFI_THROW(RuntimeError) << "There is no OpenCL device " << index << "; this machine has " << all.size()
                                  << ", counted from 0.";
    }
    return *all[index];
  }

  std::vector<ClDevice*> all;
  std::string problem;  // Why there is no device; empty if there is one.

 private:
  ClDevices() {
    const OpenCL& api = OpenCL::Get();
    problem = api.problem;
    if (!problem.empty()) return;
    cl_uint count = 0;
    if (api.GetPlatformIDs(0, nullptr, &count) != kSuccess || count == 0) {
      problem = "no OpenCL driver is installed (no file in /etc/OpenCL/vendors)";
      return;
    }
    std::vector<cl_platform> platforms(count);
    Check(api.GetPlatformIDs(count, platforms.data(), nullptr), "listing the platforms");
    for (cl_platform platform : platforms) {
      if (api.GetDeviceIDs(platform, kTypeAll, 0, nullptr, &count) != kSuccess || count == 0) continue;
      std::vector<cl_device> ids(count);
      Check(api.GetDeviceIDs(platform, kTypeAll, count, ids.data(), nullptr), "listing the devices");
      for (cl_device id : ids) {
        cl_bitfield type = 0;
        Check(api.GetDeviceInfo(id, kInfoType, sizeof type, &type, nullptr), "asking a device for its type");
        all.push_back(new ClDevice(id, type));
      }
    }
    std::stable_sort(all.begin(), all.end(), [](ClDevice* a, ClDevice* b) { return Rank(*a) < Rank(*b); });
    if (all.empty()) problem = "the OpenCL drivers of this machine find no device";
  }

  static int Rank(const ClDevice& device) { return device.type & kTypeGpu ? 0 : device.type & kTypeCpu ? 2 : 1; }
};

}  // namespace edgelab
