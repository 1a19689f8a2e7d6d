// A compiled program's kernels: read from the bytes that TVM's compiler wrote, built by the driver when first called.
#pragma once
#include <tvm/ffi/cast.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/module.h>

#include <cstring>
#include <memory>
#include <unordered_map>

#include "device_api.h"

namespace edgelab {

struct KernelInfo {
  std::vector<DLDataType> arguments;
  std::vector<std::string> launch;  // Launch parameters that follow the arguments: blockIdx.x, threadIdx.y, ...
};

// Reads what TVM's serializer wrote: 64-bit lengths in the byte order of the machine.
class Reader {
 public:
  Reader(const char* data, size_t size) : at_(data), end_(data + size) {}
  uint64_t Count(size_t element_bytes) {
    uint64_t count = 0;
    std::memcpy(&count, Take(sizeof count), sizeof count);
    if (count > static_cast<uint64_t>(end_ - at_) / element_bytes) Bad("is cut short");
    return count;
  }
  std::string Text() {
    uint64_t size = Count(1);
    return std::string(Take(size), size);
  }
  const char* Take(size_t bytes) {
    if (static_cast<size_t>(end_ - at_) < bytes) Bad("is cut short");
    const char* taken = at_;
    at_ += bytes;
    return taken;
  }
  void End() const {
    if (at_ != end_) Bad("has bytes left over");
  }
  [[noreturn]] static void Bad(const std::string& why) {
    TVM_FFI_THROW(ValueError) << "the OpenCL module " << why << "; it was built by another version of TVM";
    TVM_FFI_UNREACHABLE();
  }

 private:
  const char* at_;
  const char* end_;
};

class ClModule final : public ffi::ModuleObj {
 public:
  explicit ClModule(const ffi::Bytes& bytes) {
    Reader reader(bytes.data(), bytes.size());
    std::string format = reader.Text();
    if (format != "cl") Reader::Bad("has the format " + format + ", not source");
    for (uint64_t left = reader.Count(1); left > 0; --left) {
      std::string key = reader.Text();
      reader.Text();  // The kernel's name again.
      KernelInfo info;
      for (uint64_t i = reader.Count(4); i > 0; --i) {
        const char* raw = reader.Take(4);
        DLDataType type{static_cast<uint8_t>(raw[0]), static_cast<uint8_t>(raw[1]), 0};
        std::memcpy(&type.lanes, raw + 2, sizeof type.lanes);
        info.arguments.push_back(type);
      }
      for (uint64_t i = reader.Count(8); i > 0; --i) info.launch.push_back(reader.Text());
      reader.Take(4 * reader.Count(4));  // Extra tags, which only CUDA's tensor maps use.
      kernels_[key] = std::move(info);
    }
    source_ = reader.Text();
    reader.End();
  }

  ~ClModule() {
    for (auto& [device, built] : built_) {
      for (auto& [name, kernel] : built.kernels) OpenCL::Get().ReleaseKernel(kernel.kernel);
      if (built.program != nullptr) OpenCL::Get().ReleaseProgram(built.program);
    }
  }

  const char* kind() const final { return "opencl"; }
  int GetPropertyMask() const final { return ffi::Module::kRunnable; }
  ffi::String InspectSource(const ffi::String&) const final { return source_; }

  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    auto found = kernels_.find(std::string(name));
    if (found == kernels_.end()) return std::nullopt;
    // The reference keeps this module, and thereby `found`, alive as long as the function.
    ffi::Module keep = ffi::GetRef<ffi::Module>(this);
    return ffi::Function::FromPacked([this, keep, found](ffi::PackedArgs arguments, ffi::Any*) {
      Launch(found->first, found->second, arguments);
    });
  }

 private:
  struct Kernel {
    cl_kernel kernel = nullptr;
    size_t max_work_group = 0;
    cl_ulong local_mem_bytes = 0;
  };
  struct Built {
    cl_program program = nullptr;
    std::unordered_map<std::string, Kernel> kernels;
  };

  void Launch(const std::string& name, const KernelInfo& info, ffi::PackedArgs arguments) {
    const size_t count = info.arguments.size();
    if (static_cast<size_t>(arguments.size()) != count + info.launch.size()) {
      TVM_FFI_THROW(TypeError) << "kernel " << name << " takes " << count + info.launch.size() << " arguments, not "
                               << arguments.size();
    }
    ClDevice& device = ClDevices::Get().At(ClDeviceApi::Current());
    size_t groups[3] = {1, 1, 1}, local[3] = {1, 1, 1};
    for (size_t i = 0; i < info.launch.size(); ++i) {
      int64_t extent = arguments[static_cast<int>(count + i)].cast<int64_t>();
      if (extent == 0) return;
      if (extent < 0) TVM_FFI_THROW(ValueError) << "kernel " << name << " has the launch extent " << extent;
      *Extent(name, info.launch[i], groups, local) = static_cast<size_t>(extent);
    }
    std::lock_guard<std::mutex> lock(mutex_);  // A kernel object holds its arguments, so launches take turns.
    const Kernel& kernel = Find(name, device);
    CheckLimits(name, kernel, local, device);
    for (size_t i = 0; i < count; ++i) SetArgument(name, kernel.kernel, i, info.arguments[i], arguments);
    size_t global[3] = {groups[0] * local[0], groups[1] * local[1], groups[2] * local[2]};
    Check(OpenCL::Get().EnqueueNDRangeKernel(device.Queue(), kernel.kernel, 3, nullptr, global, local, 0, nullptr,
                                             nullptr),
          "launching kernel " + name + " on " + device.name);
  }

  static size_t* Extent(const std::string& name, const std::string& tag, size_t* groups, size_t* local) {
    const int axis = tag.empty() ? -1 : tag.back() - 'x';
    if (axis >= 0 && axis < 3 && tag.size() == 10 && tag.rfind("blockIdx.", 0) == 0) return &groups[axis];
    if (axis >= 0 && axis < 3 && tag.size() == 11 && tag.rfind("threadIdx.", 0) == 0) return &local[axis];
    TVM_FFI_THROW(RuntimeError) << "kernel " << name << " needs " << tag << ", which this OpenCL runtime has not";
    TVM_FFI_UNREACHABLE();
  }

  static void CheckLimits(const std::string& name, const Kernel& kernel, const size_t* local, ClDevice& device) {
    const size_t items = local[0] * local[1] * local[2];
    const size_t allowed = std::min(kernel.max_work_group, device.max_work_group);
    bool fits = items <= allowed;
    for (int axis = 0; axis < 3; ++axis) fits = fits && local[axis] <= device.max_work_items[axis];
    if (!fits) {
      TVM_FFI_THROW(RuntimeError) << "kernel " << name << " needs a work group of " << local[0] << " x " << local[1]
                                  << " x " << local[2] << " = " << items << " work items; " << device.name
                                  << " allows " << allowed << ", and at most " << device.max_work_items[0] << " x "
                                  << device.max_work_items[1] << " x " << device.max_work_items[2];
    }
    if (kernel.local_mem_bytes > device.local_mem_bytes) {
      TVM_FFI_THROW(RuntimeError) << "kernel " << name << " needs " << kernel.local_mem_bytes
                                  << " bytes of local memory; " << device.name << " has " << device.local_mem_bytes;
    }
  }

  static void SetArgument(const std::string& name, cl_kernel kernel, size_t index, DLDataType type,
                          ffi::PackedArgs arguments) {
    const ffi::AnyView value = arguments[static_cast<int>(index)];
    auto set = [&](const void* data, size_t bytes) {
      Check(OpenCL::Get().SetKernelArg(kernel, static_cast<cl_uint>(index), bytes, data),
            "setting argument " + std::to_string(index) + " of kernel " + name);
    };
    if (type.code == kDLOpaqueHandle) {
      cl_mem buffer = static_cast<cl_mem>(value.cast<void*>());
      return set(&buffer, sizeof buffer);
    }
    if (type.code == kDLFloat && type.bits == 32) {
      float number = static_cast<float>(value.cast<double>());
      return set(&number, sizeof number);
    }
    if (type.code == kDLFloat && type.bits == 64) {
      double number = value.cast<double>();
      return set(&number, sizeof number);
    }
    if ((type.code == kDLInt || type.code == kDLUInt) && type.bits >= 8 && type.lanes == 1) {
      int64_t number = value.cast<int64_t>();  // Little endian: the low bytes come first.
      return set(&number, type.bits / 8);
    }
    TVM_FFI_THROW(TypeError) << "argument " << index << " of kernel " << name << " is a scalar of type "
                             << ffi::DLDataTypeToString(type) << ", which this OpenCL runtime cannot pass";
  }

  const Kernel& Find(const std::string& name, ClDevice& device) {
    Built& built = built_[&device];
    auto known = built.kernels.find(name);
    if (known != built.kernels.end()) return known->second;
    if (built.program == nullptr) built.program = Build(device);
    const OpenCL& api = OpenCL::Get();
    Kernel kernel;
    cl_int code = kSuccess;
    kernel.kernel = api.CreateKernel(built.program, name.c_str(), &code);
    Check(code, "finding kernel " + name);
    Kernel& kept = built.kernels[name] = kernel;
    Check(api.GetKernelWorkGroupInfo(kept.kernel, device.device, kKernelWorkGroupSize, sizeof kept.max_work_group,
                                     &kept.max_work_group, nullptr),
          "asking kernel " + name + " for its work-group size");
    Check(api.GetKernelWorkGroupInfo(kept.kernel, device.device, kKernelLocalMem, sizeof kept.local_mem_bytes,
                                     &kept.local_mem_bytes, nullptr),
          "asking kernel " + name + " for its local memory");
    return kept;
  }

  cl_program Build(ClDevice& device) {
    const OpenCL& api = OpenCL::Get();
    const char* text = source_.c_str();
    const size_t size = source_.size();
    cl_int code = kSuccess;
    cl_program program = api.CreateProgramWithSource(device.Context(), 1, &text, &size, &code);
    Check(code, "reading the program's source");
    code = api.BuildProgram(program, 1, &device.device, "", nullptr, nullptr);
    if (code == kSuccess) return program;
    size_t bytes = 0;
    api.GetProgramBuildInfo(program, device.device, kProgramBuildLog, 0, nullptr, &bytes);
    std::string log(bytes, '\0');
    api.GetProgramBuildInfo(program, device.device, kProgramBuildLog, bytes, log.data(), nullptr);
    api.ReleaseProgram(program);
    TVM_FFI_THROW(RuntimeError) << "OpenCL: " << device.name << " cannot build the program: " << ErrorName(code)
                                << "\n" << log.c_str();
    TVM_FFI_UNREACHABLE();
  }

  std::unordered_map<std::string, KernelInfo> kernels_;
  std::string source_;
  std::mutex mutex_;
  std::unordered_map<ClDevice*, Built> built_;
};

}  // namespace edgelab
