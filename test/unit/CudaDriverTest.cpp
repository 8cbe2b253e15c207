//===- CudaDriverTest.cpp - Loading the driver, devices, linking, loading -===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mla_jit::cuda;

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

TEST_F(CudaTest, DriverLoads) {
  openDriver();
  EXPECT_EQ(driver->version(), 12080);
  EXPECT_EQ(driver->ptxVersion(), 87);
  EXPECT_EQ(driver->deviceCount(), 1);
  EXPECT_TRUE(driver->call().funcLoad);
  EXPECT_FALSE(driver->forked());
}

TEST_F(CudaTest, PTXVersionOfEachDriver) {
  for (auto [cuda, ptx] : {std::pair(12000, 80),
                           {12030, 83},
                           {12060, 85},
                           {12090, 88},
                           {13000, 90},
                           {14000, 91}}) {
    fake->version = cuda;
    openDriver();
    EXPECT_EQ(driver->ptxVersion(), ptx) << cuda;
  }
}

TEST_F(CudaTest, NoLibrary) {
  Failure failure = Driver::load("/nowhere/libcuda.so.1");
  EXPECT_EQ(failure.kind, ErrorKind::NoDriver);
  EXPECT_TRUE(failure.says("dlopen requires the NVIDIA driver's library "
                           "/nowhere/libcuda.so.1, but got "))
      << failure.message;
  EXPECT_TRUE(failure.says("No such file")) << failure.message;
  openDriver(); // the next good call works
}

// A machine without the driver says so, each time; with one, the same object.
TEST_F(CudaTest, ThisMachine) {
  llvm::Expected<const Driver &> first = Driver::get();
  if (first) {
    EXPECT_EQ(&*first, &llvm::cantFail(Driver::get()));
    return;
  }
  Failure failure = first.takeError();
  EXPECT_TRUE(failure.kind == ErrorKind::NoDriver ||
              failure.kind == ErrorKind::NoDevice)
      << failure.message;
  if (!dlopen("libcuda.so.1", RTLD_NOW))
    EXPECT_TRUE(failure.says("dlopen requires the NVIDIA driver's library "
                             "libcuda.so.1, but got "))
        << failure.message;
  EXPECT_EQ(Failure(Driver::get().takeError()).message, failure.message);
}

TEST_F(CudaTest, DriverTooOld) {
  fake->version = 11080;
  Failure failure = Driver::load(MLA_FAKE_CUDA);
  EXPECT_EQ(failure.kind, ErrorKind::NoDriver);
  EXPECT_EQ(failure.message,
            "cuDriverGetVersion requires a driver for CUDA 12.0 or newer (525 "
            "or newer), but got a driver for CUDA 11.8");

  failure = Driver::load(MLA_FAKE_CUDA_OLD);
  EXPECT_EQ(failure.kind, ErrorKind::NoDriver);
  EXPECT_TRUE(failure.says("cuGetProcAddress_v2 requires a driver for CUDA "
                           "12.0 or newer"))
      << failure.message;
}

TEST_F(CudaTest, SymbolMissing) {
  fake->missing = {"cuTensorMapEncodeTiled"};
  Failure failure = Driver::load(MLA_FAKE_CUDA);
  EXPECT_EQ(failure.kind, ErrorKind::NoDriver);
  EXPECT_EQ(failure.message,
            "cuTensorMapEncodeTiled requires a driver for CUDA 12.0 or newer "
            "(525 or newer), but got a driver for CUDA 12.8 without this "
            "symbol");
  fake->missing = {"cuFuncLoad", "cuKernelGetParamInfo"};
  openDriver(); // these two are optional
  EXPECT_FALSE(driver->call().funcLoad);
}

TEST_F(CudaTest, OldestDriverThatWillDo) {
  fake->version = kRequiredDriver;
  auto function = loadFunction();
  EXPECT_FALSE(driver->call().funcLoad);
  EXPECT_EQ(function->info().parameters, 3);
}

TEST_F(CudaTest, InitFails) {
  fail("cuInit", SystemDriverMismatch);
  Failure failure = Driver::load(MLA_FAKE_CUDA);
  EXPECT_EQ(failure.kind, ErrorKind::NoDriver);
  EXPECT_EQ(failure.result, SystemDriverMismatch);
  EXPECT_EQ(failure.message,
            "cuInit failed: unknown error (803): words of the driver");
  fail("cuInit", Unknown);
  failure = Driver::load(MLA_FAKE_CUDA);
  EXPECT_EQ(failure.kind, ErrorKind::NoDriver);
  EXPECT_EQ(failure.message, "cuInit failed: unknown error (999)");
  fake->failures.clear();
  fail("cuDriverGetVersion", Unknown);
  EXPECT_EQ(Failure(Driver::load(MLA_FAKE_CUDA)).kind, ErrorKind::NoDriver);
}

TEST_F(CudaTest, NoDevice) {
  fake->deviceCount = 0;
  Failure failure = Driver::load(MLA_FAKE_CUDA);
  EXPECT_EQ(failure.kind, ErrorKind::NoDevice);
  EXPECT_EQ(failure.message, "cuInit failed: CUDA_ERROR_NO_DEVICE (100): "
                             "words of the driver");
  fake->initNeedsDevice = false;
  failure = Driver::load(MLA_FAKE_CUDA);
  EXPECT_EQ(failure.kind, ErrorKind::NoDevice);
  EXPECT_TRUE(failure.says("at least one visible device, but got none"));
}

TEST(CudaErrorTest, Kinds) {
  EXPECT_EQ(classify(InvalidValue), ErrorKind::Invalid);
  EXPECT_EQ(classify(OutOfMemory), ErrorKind::OutOfMemory);
  EXPECT_EQ(classify(IllegalAddress), ErrorKind::DeviceLost);
  EXPECT_EQ(classify(EccUncorrectable), ErrorKind::DeviceLost);
  EXPECT_EQ(classify(LaunchFailed), ErrorKind::DeviceLost);
  EXPECT_EQ(classify(InvalidPTX), ErrorKind::Compile);
  EXPECT_EQ(classify(static_cast<Result>(905)), ErrorKind::Capturing);
  EXPECT_EQ(classify(static_cast<Result>(909)), ErrorKind::Other);
  EXPECT_EQ(classify(static_cast<Result>(123456)), ErrorKind::Other);
  EXPECT_EQ(toString(ErrorKind::DeviceLost), "device lost");
}

//===----------------------------------------------------------------------===//
// Device, Context
//===----------------------------------------------------------------------===//

TEST_F(CudaTest, DeviceTellsWhatItIs) {
  openDriver();
  Device device = get(Device::open(*driver));
  EXPECT_EQ(device.name, "Fake H200");
  EXPECT_EQ(device.chip, "sm_90a");
  EXPECT_EQ(device.numSMs, 132);
  EXPECT_EQ(device.sharedBytesPerBlock, 232448);
  EXPECT_EQ(device.l2Bytes, 60 << 20);
  EXPECT_EQ(device.clockKilohertz, 1980000);
  EXPECT_EQ(chipName(8, 0), "sm_80");
  EXPECT_EQ(chipName(12, 0), "sm_120a");
}

TEST_F(CudaTest, DeviceFailures) {
  openDriver();
  for (int ordinal : {-1, 1}) {
    Failure failure = Device::open(*driver, ordinal);
    EXPECT_EQ(failure.kind, ErrorKind::NoDevice);
    EXPECT_EQ(failure.message, "cuDeviceGet requires a device number in [0, "
                               "1), but got " +
                                   std::to_string(ordinal));
  }
  for (const char *call : {"cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem",
                           "cuDeviceGetAttribute"}) {
    fake->failures = {{call, InvalidValue}};
    Failure failure = Device::open(*driver);
    EXPECT_EQ(failure.kind, ErrorKind::Invalid);
    EXPECT_EQ(failure.message.find(call), 0u) << failure.message;
    EXPECT_TRUE(failure.says(
        "failed: CUDA_ERROR_INVALID_VALUE (1): words of the driver"));
  }
  fake->failures.clear();
  get(Device::open(*driver));
}

TEST_F(CudaTest, ContextLeavesTheCallersCurrent) {
  openContext();
  const DriverTable &call = driver->call();
  auto current = [&] {
    ContextHandle handle = nullptr;
    call.ctxGetCurrent(&handle);
    return handle;
  };
  EXPECT_EQ(current(), nullptr);
  auto other = reinterpret_cast<ContextHandle>(&driver);
  call.ctxPushCurrent(other);
  {
    ContextScope outer = get(context->enter());
    EXPECT_EQ(current(), context->handle());
    int pushes = fake->calls["cuCtxPushCurrent"];
    {
      ContextScope inner = get(context->enter());
      EXPECT_EQ(current(), context->handle());
    }
    EXPECT_EQ(fake->calls["cuCtxPushCurrent"], pushes);
    EXPECT_EQ(current(), context->handle());
    std::thread([&] {
      EXPECT_EQ(current(), nullptr);
      EXPECT_TRUE(Failure(context->synchronize()).ok);
      EXPECT_EQ(current(), nullptr);
    }).join();
  }
  EXPECT_EQ(current(), other);
  ContextHandle popped;
  call.ctxPopCurrent(&popped);
  EXPECT_EQ(get(context->freeMemory()), fake->memoryBytes / 2);
}

TEST_F(CudaTest, ContextFailures) {
  openDriver();
  Device device = get(Device::open(*driver));
  fail("cuDevicePrimaryCtxRetain", OutOfMemory);
  Failure failure = Context::retain(*driver, device);
  EXPECT_EQ(failure.kind, ErrorKind::OutOfMemory);
  EXPECT_TRUE(failure.says("cuDevicePrimaryCtxRetain (of Fake H200) failed"));
  fake->failures.clear();
  openContext();
  fail("cuCtxPushCurrent", IllegalAddress);
  failure = context->enter();
  EXPECT_EQ(failure.kind, ErrorKind::DeviceLost);
  EXPECT_TRUE(failure.says("device lost, perhaps through an earlier kernel: "
                           "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

TEST_F(CudaTest, AForkedChildIsRefused) {
  openContext();
  pid_t child = fork();
  if (child == 0) {
    bool refused = Failure(context->enter()).kind == ErrorKind::Forked &&
                   Failure(Device::open(*driver)).kind == ErrorKind::Forked;
    _exit(refused ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

//===----------------------------------------------------------------------===//
// linkPTX
//===----------------------------------------------------------------------===//

TEST_F(CudaTest, LinkKeepsTheLogs) {
  openContext();
  fake->infoLog = "ptxas info : (C7508) Potential Performance Loss";
  LinkedImage image = get(linkPTX(*context, "vector_add"));
  EXPECT_EQ(image.cubin, fakeCubin(std::string("vector_add\0", 11)));
  EXPECT_EQ(image.infoLog, fake->infoLog);
  EXPECT_EQ(image.errorLog, "");
  EXPECT_TRUE(fake->terminated);
  EXPECT_TRUE(fake->verbose);
  EXPECT_FALSE(fake->lineInfo);

  fake->infoLog = "ptxas" + std::string(1000, 'x');
  LinkOptions options;
  options.logBytes = 100;
  options.lineInfo = true;
  image = get(linkPTX(*context, "vector_add", options));
  EXPECT_EQ(image.infoLog,
            "ptxas" + std::string(94, 'x') + "\n[cut after 99 bytes]");
  EXPECT_TRUE(fake->lineInfo);
}

TEST_F(CudaTest, LinkGetsTheLogPastTheDriversCache) {
  openContext();
  fake->cacheHits = true;
  EXPECT_FALSE(get(linkPTX(*context, "vector_add")).fromDriverCache);
  EXPECT_EQ(fake->calls["cuLinkComplete"], 1);
  LinkedImage image = get(linkPTX(*context, "vector_add"));
  EXPECT_FALSE(image.fromDriverCache);
  EXPECT_EQ(image.infoLog, fake->infoLog);
  EXPECT_EQ(fake->calls["cuLinkComplete"], 3);
  LinkOptions options;
  options.fullLog = false;
  EXPECT_TRUE(get(linkPTX(*context, "vector_add", options)).fromDriverCache);
  EXPECT_EQ(fake->calls["cuLinkComplete"], 4);
}

TEST_F(CudaTest, LinkFailures) {
  openContext();
  Failure failure = linkPTX(*context, "");
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);

  failure = linkPTX(*context, ".version 8.0\n.target sm_90a\nbad");
  EXPECT_EQ(failure.kind, ErrorKind::Compile);
  EXPECT_EQ(failure.result, InvalidPTX);
  EXPECT_EQ(failure.message,
            "cuLinkAddData failed: CUDA_ERROR_INVALID_PTX (218): words of the "
            "driver\nptxas kernel.ptx, line 3; error : Unknown symbol 'bad'\n" +
                fake->infoLog);

  failure =
      linkPTX(*context, "// x\n.version 9.2\n.target sm_100a, debug\nbad");
  EXPECT_TRUE(failure.says("PTX .version 9.2 requires a newer driver: this "
                           "one, for CUDA 12.8, takes up to 8.7"))
      << failure.message;
  EXPECT_TRUE(failure.says("PTX .target is sm_100a, but Fake H200 is sm_90a"))
      << failure.message;

  for (const char *call : {"cuLinkCreate", "cuLinkAddData", "cuLinkComplete"}) {
    fake->failures = {{call, UnsupportedPTXVersion}};
    failure = linkPTX(*context, "x");
    EXPECT_EQ(failure.kind, ErrorKind::Compile);
    EXPECT_EQ(failure.message.find(call), 0u) << failure.message;
    fake->failures = {{call, OutOfMemory}};
    EXPECT_EQ(Failure(linkPTX(*context, "x")).kind, ErrorKind::OutOfMemory);
  }
  fake->failures.clear();
  get(linkPTX(*context, "x"));
}

//===----------------------------------------------------------------------===//
// Library, Function
//===----------------------------------------------------------------------===//

TEST_F(CudaTest, FunctionIsLoadedWhenMade) {
  auto function = loadFunction();
  EXPECT_EQ(fake->calls["cuKernelGetFunction"], 1);
  EXPECT_EQ(fake->calls["cuFuncLoad"], 1);
  const FunctionInfo &info = function->info();
  EXPECT_EQ(info.symbol, "vector_add");
  EXPECT_EQ(info.registers, 168);
  EXPECT_EQ(info.localBytes, 16);
  EXPECT_EQ(info.maxThreads, 1024);
  EXPECT_EQ(info.ptxVersion, 80);
  EXPECT_EQ(info.binaryVersion, 90);
  EXPECT_EQ(info.parameters, 3);
  library.reset();
  EXPECT_EQ(fake->libraries, 1); // the function keeps it
  function.reset();
  EXPECT_EQ(fake->libraries, 0);
}

TEST_F(CudaTest, LibraryFailures) {
  openContext();
  std::string cut = fakeCubin(""), host = cut;
  cut[60] = 1;  // one section of
  cut[58] = 1;  // one byte
  cut[40] = 64; // behind the header
  host[18] = 62;
  for (auto [image, text] :
       {std::pair<std::string, const char *>("", "0 bytes that are no ELF"),
        {std::string(100, 'x'), "100 bytes that are no ELF"},
        {host, "64 bytes of ELF for machine 62"},
        {cut, "64 bytes that end before their header says"}}) {
    Failure failure = Library::load(context, image);
    EXPECT_EQ(failure.kind, ErrorKind::Compile);
    EXPECT_TRUE(failure.says(std::string("cuLibraryLoadData requires a whole "
                                         "cubin (an ELF file for NVIDIA "
                                         "devices), but got ") +
                             text))
        << failure.message;
  }
  get(Library::load(context, cut + "x"));
  fail("cuLibraryLoadData", NoBinaryForGPU);
  Failure failure = Library::load(context, fakeCubin("vector_add"));
  EXPECT_EQ(failure.kind, ErrorKind::Compile);
  EXPECT_TRUE(failure.says("cuLibraryLoadData (74 bytes for sm_90a) failed"))
      << failure.message;
  fake->failures.clear();

  library = get(Library::load(context, fakeCubin("vector_add")));
  failure = Function::get(library, "other");
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_TRUE(failure.says("cuLibraryGetKernel (kernel 'other') failed"));
  size_t sizes[] = {8, 4, 4, 8};
  failure = Function::get(library, "vector_add", llvm::ArrayRef(sizes, 3));
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_EQ(failure.message, "parameter 1 of kernel 'vector_add' requires 8 "
                             "bytes, but got 4");
  sizes[1] = 8;
  failure = Function::get(library, "vector_add", sizes);
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_TRUE(failure.says("cuKernelGetParamInfo (parameter 3 of 4 of kernel "
                           "'vector_add') failed"))
      << failure.message;
  for (const char *call :
       {"cuLibraryGetKernel", "cuKernelGetFunction", "cuFuncLoad",
        "cuFuncGetAttribute", "cuKernelGetParamInfo"}) {
    fake->failures = {{call, OutOfMemory}};
    failure = Function::get(library, "vector_add", llvm::ArrayRef(sizes, 3));
    EXPECT_EQ(failure.kind, ErrorKind::OutOfMemory);
    EXPECT_EQ(failure.message.find(call), 0u) << failure.message;
  }
  fake->failures.clear();
  get(Function::get(library, "vector_add"));
}
