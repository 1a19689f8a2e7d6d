// The part of the OpenCL 1.2 C interface that the runtime uses, found by dlopen: neither OpenCL headers nor a library
// to link with are needed where it is built. Types and constants are those of the Khronos headers (CL/cl.h).
#pragma once
#include <dlfcn.h>
#include <tvm/ffi/error.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace edgelab {

using cl_int = int32_t;
using cl_uint = uint32_t;
using cl_ulong = uint64_t;
using cl_bitfield = uint64_t;
using cl_platform = struct _cl_platform_id*;
using cl_device = struct _cl_device_id*;
using cl_context = struct _cl_context*;
using cl_queue = struct _cl_command_queue*;
using cl_mem = struct _cl_mem*;
using cl_program = struct _cl_program*;
using cl_kernel = struct _cl_kernel*;
using cl_event = struct _cl_event*;

constexpr cl_int kSuccess = 0, kDeviceNotFound = -1, kAllocationFailed = -4, kOutOfResources = -5,
                 kOutOfHostMemory = -6, kProfilingNotAvailable = -7, kBuildFailure = -11, kInvalidBufferSize = -61;
constexpr cl_bitfield kTypeCpu = 1 << 1, kTypeGpu = 1 << 2, kTypeAll = 0xFFFFFFFF;
constexpr cl_bitfield kQueueProfiling = 1 << 1, kMemReadWrite = 1 << 0;
constexpr cl_uint kBlocking = 1;
enum DeviceInfo : cl_uint {
  kInfoType = 0x1000, kInfoComputeUnits = 0x1002, kInfoWorkItemSizes = 0x1005, kInfoWorkGroupSize = 0x1004,
  kInfoClockMHz = 0x100C, kInfoMaxAlloc = 0x1010, kInfoCacheSize = 0x101E, kInfoGlobalMem = 0x101F,
  kInfoLocalMem = 0x1023, kInfoName = 0x102B, kInfoDriverVersion = 0x102D, kInfoVersion = 0x102F,
};
constexpr cl_uint kProgramBuildLog = 0x1183;
constexpr cl_uint kKernelWorkGroupSize = 0x11B0, kKernelLocalMem = 0x11B2;
constexpr cl_uint kProfilingStart = 0x1282, kProfilingEnd = 0x1283;

struct OpenCL {
  cl_int (*GetPlatformIDs)(cl_uint, cl_platform*, cl_uint*);
  cl_int (*GetDeviceIDs)(cl_platform, cl_bitfield, cl_uint, cl_device*, cl_uint*);
  cl_int (*GetDeviceInfo)(cl_device, cl_uint, size_t, void*, size_t*);
  cl_context (*CreateContext)(const intptr_t*, cl_uint, const cl_device*, void*, void*, cl_int*);
  cl_int (*ReleaseContext)(cl_context);
  cl_queue (*CreateCommandQueue)(cl_context, cl_device, cl_bitfield, cl_int*);
  cl_mem (*CreateBuffer)(cl_context, cl_bitfield, size_t, void*, cl_int*);
  cl_int (*ReleaseMemObject)(cl_mem);
  cl_int (*EnqueueReadBuffer)(cl_queue, cl_mem, cl_uint, size_t, size_t, void*, cl_uint, const cl_event*, cl_event*);
  cl_int (*EnqueueWriteBuffer)(cl_queue, cl_mem, cl_uint, size_t, size_t, const void*, cl_uint, const cl_event*,
                               cl_event*);
  cl_int (*EnqueueCopyBuffer)(cl_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event*, cl_event*);
  cl_int (*EnqueueFillBuffer)(cl_queue, cl_mem, const void*, size_t, size_t, size_t, cl_uint, const cl_event*,
                              cl_event*);
  cl_int (*Finish)(cl_queue);
  cl_program (*CreateProgramWithSource)(cl_context, cl_uint, const char**, const size_t*, cl_int*);
  cl_int (*BuildProgram)(cl_program, cl_uint, const cl_device*, const char*, void*, void*);
  cl_int (*GetProgramBuildInfo)(cl_program, cl_device, cl_uint, size_t, void*, size_t*);
  cl_int (*ReleaseProgram)(cl_program);
  cl_kernel (*CreateKernel)(cl_program, const char*, cl_int*);
  cl_int (*GetKernelWorkGroupInfo)(cl_kernel, cl_device, cl_uint, size_t, void*, size_t*);
  cl_int (*SetKernelArg)(cl_kernel, cl_uint, size_t, const void*);
  cl_int (*ReleaseKernel)(cl_kernel);
  cl_int (*EnqueueNDRangeKernel)(cl_queue, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*, cl_uint,
                                 const cl_event*, cl_event*);
  cl_int (*EnqueueMarkerWithWaitList)(cl_queue, cl_uint, const cl_event*, cl_event*);
  cl_int (*WaitForEvents)(cl_uint, const cl_event*);
  cl_int (*GetEventProfilingInfo)(cl_event, cl_uint, size_t, void*, size_t*);
  cl_int (*ReleaseEvent)(cl_event);
  std::string problem;  // Why there is no OpenCL; empty if there is.

  static const OpenCL& Get() {
    static const OpenCL* api = new OpenCL();  // Never freed: drivers have threads of their own at exit.
    return *api;
  }

 private:
  OpenCL() {
    void* library = nullptr;
    for (const char* name : {"libOpenCL.so.1", "libOpenCL.so", "libmali.so.1", "libmali.so"}) {
      if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
    }
    if (library == nullptr) {
      problem = "no OpenCL library (libOpenCL.so.1 or libmali.so) was found";
      return;
    }
#define EDGELAB_FIND(NAME)                                                  \
  NAME = reinterpret_cast<decltype(NAME)>(dlsym(library, "cl" #NAME));      \
  if (NAME == nullptr) problem = "the OpenCL library has no cl" #NAME;
    EDGELAB_FIND(GetPlatformIDs) EDGELAB_FIND(GetDeviceIDs) EDGELAB_FIND(GetDeviceInfo)
    EDGELAB_FIND(CreateContext) EDGELAB_FIND(ReleaseContext) EDGELAB_FIND(CreateCommandQueue)
    EDGELAB_FIND(CreateBuffer) EDGELAB_FIND(ReleaseMemObject) EDGELAB_FIND(EnqueueReadBuffer)
    EDGELAB_FIND(EnqueueWriteBuffer) EDGELAB_FIND(EnqueueCopyBuffer) EDGELAB_FIND(Finish)
    EDGELAB_FIND(CreateProgramWithSource) EDGELAB_FIND(BuildProgram) EDGELAB_FIND(GetProgramBuildInfo)
    EDGELAB_FIND(ReleaseProgram) EDGELAB_FIND(CreateKernel) EDGELAB_FIND(GetKernelWorkGroupInfo)
    EDGELAB_FIND(SetKernelArg) EDGELAB_FIND(ReleaseKernel) EDGELAB_FIND(EnqueueNDRangeKernel)
    EDGELAB_FIND(EnqueueMarkerWithWaitList) EDGELAB_FIND(WaitForEvents) EDGELAB_FIND(GetEventProfilingInfo)
    EDGELAB_FIND(ReleaseEvent) EDGELAB_FIND(EnqueueFillBuffer)
#undef EDGELAB_FIND
  }
};

// Name of an error code, as an author of kernels may look it up.
inline std::string ErrorName(cl_int code) {
  struct Name { cl_int code; const char* name; };
  static constexpr Name names[] = {
      {-1, "CL_DEVICE_NOT_FOUND"}, {-2, "CL_DEVICE_NOT_AVAILABLE"}, {-3, "CL_COMPILER_NOT_AVAILABLE"},
      {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"}, {-5, "CL_OUT_OF_RESOURCES"}, {-6, "CL_OUT_OF_HOST_MEMORY"},
      {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"}, {-11, "CL_BUILD_PROGRAM_FAILURE"},
      {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"}, {-30, "CL_INVALID_VALUE"}, {-33, "CL_INVALID_DEVICE"},
      {-34, "CL_INVALID_CONTEXT"}, {-36, "CL_INVALID_COMMAND_QUEUE"}, {-38, "CL_INVALID_MEM_OBJECT"},
      {-44, "CL_INVALID_PROGRAM"}, {-45, "CL_INVALID_PROGRAM_EXECUTABLE"}, {-46, "CL_INVALID_KERNEL_NAME"},
      {-48, "CL_INVALID_KERNEL"}, {-49, "CL_INVALID_ARG_INDEX"}, {-50, "CL_INVALID_ARG_VALUE"},
      {-51, "CL_INVALID_ARG_SIZE"}, {-52, "CL_INVALID_KERNEL_ARGS"}, {-54, "CL_INVALID_WORK_GROUP_SIZE"},
      {-55, "CL_INVALID_WORK_ITEM_SIZE"}, {-61, "CL_INVALID_BUFFER_SIZE"}, {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}};
  for (const Name& known : names) {
    if (known.code == code) return std::string(known.name) + " (" + std::to_string(code) + ")";
  }
  return "OpenCL error " + std::to_string(code);
}

inline bool IsOutOfMemory(cl_int code) {
  return code == kAllocationFailed || code == kOutOfResources || code == kOutOfHostMemory ||
         code == kInvalidBufferSize;
}

// Throws unless `code` is success; `what` says what was tried. The words "out of memory" are a contract: by them the
// worker tells a program that needs too much from one that is wrong.
inline void Check(cl_int code, const std::string& what) {
  if (code == kSuccess) return;
  TVM_FFI_THROW(RuntimeError) << (IsOutOfMemory(code) ? "OpenCL is out of memory: " : "OpenCL: ") << what
                              << " failed with " << ErrorName(code);
}

}  // namespace edgelab
