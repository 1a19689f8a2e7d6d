// TVM's device interface and timer on OpenCL buffers, one in-order queue a device.
#pragma once
#include <tvm/runtime/device_api.h>

#include "device.h"
#include "timer_interface.h"

namespace edgelab {

namespace ffi = tvm::ffi;
using tvm::Device;

class ClDeviceApi final : public tvm::runtime::DeviceAPI {
 public:
  static ClDeviceApi* Get() {
    static ClDeviceApi* api = new ClDeviceApi();
    return api;
  }

  // Device that the calling thread launches kernels on.
  static int& Current() {
    static thread_local int current = 0;
    return current;
  }

  void SetDevice(Device device) final { Current() = device.device_id; }

  void GetAttr(Device device, tvm::runtime::DeviceAttrKind kind, ffi::Any* value) final {
    ClDevices& devices = ClDevices::Get();
    if (kind == tvm::runtime::kExist) {
      *value = static_cast<int64_t>(device.device_id >= 0 &&
                                    device.device_id < static_cast<int>(devices.all.size()));
      return;
    }
    ClDevice& cl = devices.At(device.device_id);
    switch (kind) {
      case tvm::runtime::kMaxThreadsPerBlock: *value = static_cast<int64_t>(cl.max_work_group); break;
      case tvm::runtime::kWarpSize: *value = int64_t{1}; break;  // OpenCL 1.2 promises no lockstep.
      case tvm::runtime::kMaxSharedMemoryPerBlock: *value = static_cast<int64_t>(cl.local_mem_bytes); break;
      case tvm::runtime::kDeviceName: *value = ffi::String(cl.name); break;
      case tvm::runtime::kMaxClockRate: *value = static_cast<int64_t>(cl.Number<cl_uint>(kInfoClockMHz)); break;
      case tvm::runtime::kMultiProcessorCount:
        *value = static_cast<int64_t>(cl.Number<cl_uint>(kInfoComputeUnits));
        break;
      case tvm::runtime::kMaxThreadDimensions:
        *value = ffi::String("[" + std::to_string(cl.max_work_items[0]) + ", " +
                             std::to_string(cl.max_work_items[1]) + ", " + std::to_string(cl.max_work_items[2]) + "]");
        break;
      case tvm::runtime::kDriverVersion: *value = ffi::String(cl.Text(kInfoDriverVersion)); break;
      case tvm::runtime::kApiVersion: *value = ffi::String(cl.Text(kInfoVersion)); break;
      case tvm::runtime::kL2CacheSizeBytes:
        *value = static_cast<int64_t>(cl.Number<cl_ulong>(kInfoCacheSize));
        break;
      case tvm::runtime::kTotalGlobalMemory:
        *value = static_cast<int64_t>(cl.Number<cl_ulong>(kInfoGlobalMem));
        break;
      default: break;  // Unknown, which TVM shows as None.
    }
  }

  void* AllocDataSpace(Device device, size_t bytes, size_t, DLDataType) final {
    ClDevice& cl = ClDevices::Get().At(device.device_id);
    if (bytes > cl.max_alloc_bytes) {
      TVM_FFI_THROW(RuntimeError) << "OpenCL is out of memory: a buffer of " << bytes << " bytes, and " << cl.name
                                  << " allows " << cl.max_alloc_bytes;
    }
    cl_int code = kSuccess;
    cl_mem buffer = OpenCL::Get().CreateBuffer(cl.Context(), kMemReadWrite, std::max<size_t>(bytes, 1), nullptr, &code);
    Check(code, "allocating " + std::to_string(bytes) + " bytes on " + cl.name);
    // All bits set is NaN: what a kernel reads without anyone having written it must not pass for a result.
    const uint8_t pattern = 0xFF;
    code = OpenCL::Get().EnqueueFillBuffer(cl.Queue(), buffer, &pattern, sizeof pattern, 0, std::max<size_t>(bytes, 1), 0,
                                           nullptr, nullptr);
    // Waited for: a command in the queue would keep the buffer alive after it was freed.
    if (code == kSuccess) code = OpenCL::Get().Finish(cl.Queue());
    if (code != kSuccess) OpenCL::Get().ReleaseMemObject(buffer);
    Check(code, "filling " + std::to_string(bytes) + " bytes on " + cl.name);
    return buffer;
  }

  void FreeDataSpace(Device, void* buffer) final {
    Check(OpenCL::Get().ReleaseMemObject(static_cast<cl_mem>(buffer)), "freeing a buffer");
  }

  void StreamSync(Device device, TVMStreamHandle) final { Finish(device.device_id); }

  static void Finish(int index) {
    ClDevice& cl = ClDevices::Get().At(index);
    Check(OpenCL::Get().Finish(cl.Queue()), "waiting for " + cl.name);
  }

 protected:
  void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset, size_t bytes,
                      Device from_device, Device to_device, DLDataType hint, TVMStreamHandle stream) final {
    if (bytes == 0) return;
    const OpenCL& api = OpenCL::Get();
    cl_mem source = static_cast<cl_mem>(const_cast<void*>(from)), sink = static_cast<cl_mem>(to);
    const bool from_cl = from_device.device_type == kDLOpenCL, to_cl = to_device.device_type == kDLOpenCL;
    if (from_cl && to_cl && from_device.device_id == to_device.device_id) {
      cl_queue queue = ClDevices::Get().At(to_device.device_id).Queue();
      Check(api.EnqueueCopyBuffer(queue, source, sink, from_offset, to_offset, bytes, 0, nullptr, nullptr),
            "copying between buffers");
    } else if (from_cl && to_cl) {
      std::vector<char> host(bytes);
      Device cpu{kDLCPU, 0};
      CopyDataFromTo(from, from_offset, host.data(), 0, bytes, from_device, cpu, hint, stream);
      CopyDataFromTo(host.data(), 0, to, to_offset, bytes, cpu, to_device, hint, stream);
    } else if (from_cl) {
      cl_queue queue = ClDevices::Get().At(from_device.device_id).Queue();
      Check(api.EnqueueReadBuffer(queue, source, kBlocking, from_offset, bytes, static_cast<char*>(to) + to_offset, 0,
                                  nullptr, nullptr),
            "reading a buffer");
    } else {
      cl_queue queue = ClDevices::Get().At(to_device.device_id).Queue();
      Check(api.EnqueueWriteBuffer(queue, sink, kBlocking, to_offset, bytes,
                                   static_cast<const char*>(from) + from_offset, 0, nullptr, nullptr),
            "writing a buffer");
    }
  }
};

// Time on the device between two markers in the queue: what ran in between, and the gaps.
class ClTimer final : public tvm::runtime::TimerNode {
 public:
  explicit ClTimer(Device device) : device_(device) {}
  ~ClTimer() final {
    for (cl_event event : {start_, stop_}) {
      if (event != nullptr) OpenCL::Get().ReleaseEvent(event);
    }
  }
  void Start() final {
    ClDeviceApi::Finish(device_.device_id);
    start_ = Mark();
  }
  void Stop() final { stop_ = Mark(); }
  int64_t SyncAndGetElapsedNanos() final {
    if (start_ == nullptr || stop_ == nullptr) TVM_FFI_THROW(RuntimeError) << "the OpenCL timer was not started";
    Check(OpenCL::Get().WaitForEvents(1, &stop_), "waiting for the timer");
    return static_cast<int64_t>(Time(stop_, kProfilingStart) - Time(start_, kProfilingEnd));
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("edgelab.OpenCLTimer", ClTimer, tvm::runtime::TimerNode);

 private:
  cl_event Mark() {
    cl_event event = nullptr;
    cl_queue queue = ClDevices::Get().At(device_.device_id).Queue();
    Check(OpenCL::Get().EnqueueMarkerWithWaitList(queue, 0, nullptr, &event), "setting a time mark");
    return event;
  }
  static cl_ulong Time(cl_event event, cl_uint which) {
    cl_ulong nanoseconds = 0;
    Check(OpenCL::Get().GetEventProfilingInfo(event, which, sizeof nanoseconds, &nanoseconds, nullptr),
          "reading a time mark");
    return nanoseconds;
  }

  Device device_;
  cl_event start_ = nullptr, stop_ = nullptr;
};

}  // namespace edgelab
