//===- Driver.cpp - Loading the CUDA driver -------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <utility>

using namespace mla_jit::cuda;

std::string mla_jit::cuda::versionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

std::string mla_jit::cuda::releaseOfLibrary(const char *path) {
  char *file = ::realpath(path, nullptr);
  llvm::StringRef name = file ? file : "";
  name = name.rsplit('/').second;
  bool isRelease = name.consume_front("libcuda.so.") && name.contains('.') &&
                   name.find_first_not_of("0123456789.") == name.npos;
  std::string release = isRelease ? name.str() : "";
  ::free(file);
  return release;
}

llvm::Expected<const Driver &> Driver::get() {
  // Leaked, as the driver may be called until the very end of the process.
  static std::mutex mutex;
  static const Driver *loaded = nullptr;
  std::lock_guard lock(mutex);
  if (!loaded) {
    llvm::Expected<std::unique_ptr<Driver>> driver = load("libcuda.so.1");
    if (!driver)
      return driver.takeError();
    loaded = driver->release();
  }
  if (llvm::Error error = loaded->checkProcess("cuInit"))
    return std::move(error);
  return *loaded;
}

llvm::Expected<std::unique_ptr<Driver>> Driver::load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return refuse(ErrorKind::NoDriver, "dlopen",
                  llvm::Twine("the NVIDIA driver's library ") + path,
                  reason ? reason : "no reason");
  }
  // Not unloaded on failure either: the driver has threads and exit handlers.
  std::unique_ptr<Driver> driver(new Driver);
  if (llvm::Error error = driver->initialise(library, path))
    return std::move(error);
  return std::move(driver);
}

llvm::Error Driver::initialise(void *library, const char *path) {
  std::string needed = "a driver for CUDA " + versionText(kRequiredDriver) +
                       " or newer (525 or newer)";
  // These two are exported under fixed names by every driver that will do.
  auto getVersion =
      reinterpret_cast<Result (*)(int *)>(dlsym(library, "cuDriverGetVersion"));
  auto getProcAddress =
      reinterpret_cast<GetProcAddressFn>(dlsym(library, "cuGetProcAddress_v2"));
  if (!getVersion)
    return refuse(ErrorKind::NoDriver, "cuDriverGetVersion", needed,
                  llvm::Twine(path) + " without this symbol");
  Dl_info file;
  if (::dladdr(reinterpret_cast<void *>(getVersion), &file) && file.dli_fname)
    releaseText = releaseOfLibrary(file.dli_fname);
  if (Result result = getVersion(&cudaVersion))
    return llvm::make_error<DriverError>(ErrorKind::NoDriver, result,
                                         "cuDriverGetVersion failed: error " +
                                             std::to_string(result));
  if (cudaVersion < kRequiredDriver)
    return refuse(ErrorKind::NoDriver, "cuDriverGetVersion", needed,
                  "a driver for CUDA " + versionText(cudaVersion));
  if (!getProcAddress)
    return refuse(ErrorKind::NoDriver, "cuGetProcAddress_v2", needed,
                  llvm::Twine(path) + " without this symbol");

  auto find = [&](const char *name, int version) {
    void *function = nullptr;
    int status = 0;
    Result result = getProcAddress(name, &function, version, 0, &status);
    return result == Success && status == 0 ? function : nullptr;
  };
#define MLA_CUDA_FIND(field, name, version, parameters)                        \
  table.field = reinterpret_cast<decltype(table.field)>(find(#name, version));
  MLA_CUDA_REQUIRED_FUNCTIONS(MLA_CUDA_FIND)
  MLA_CUDA_OPTIONAL_FUNCTIONS(MLA_CUDA_FIND)
#undef MLA_CUDA_FIND
#define MLA_CUDA_CHECK(field, name, version, parameters)                       \
  if (!table.field)                                                            \
    return refuse(ErrorKind::NoDriver, #name, needed,                          \
                  "a driver for CUDA " + versionText(cudaVersion) +            \
                      " without this symbol");
  MLA_CUDA_REQUIRED_FUNCTIONS(MLA_CUDA_CHECK)
#undef MLA_CUDA_CHECK

  if (Result result = table.init(0)) {
    ErrorKind kind = classify(result);
    return llvm::make_error<DriverError>(
        kind == ErrorKind::NoDevice ? kind : ErrorKind::NoDriver, result,
        "cuInit failed: " + describe(result));
  }
  process.emplace();
  if (llvm::Error error =
          check(table.deviceGetCount(&numDevices), "cuDeviceGetCount"))
    return error;
  if (numDevices < 1)
    return refuse(ErrorKind::NoDevice, "cuDeviceGetCount",
                  "at least one visible device", "none");
  return llvm::Error::success();
}

int Driver::ptxVersion() const {
  // From the table of releases in the PTX manual; what is newer than the last
  // entry takes that as well.
  static constexpr std::pair<int, int> versions[] = {
      {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83},
      {12040, 84}, {12050, 85}, {12060, 85}, {12070, 86},
      {12080, 87}, {12090, 88}, {13000, 90}, {13010, 91}};
  int ptx = 80;
  for (auto [cuda, newest] : versions)
    if (cudaVersion >= cuda)
      ptx = newest;
  return ptx;
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (table.getErrorName(result, &name) != Success || !name)
    name = "unknown error";
  if (table.getErrorString(result, &text) != Success)
    text = nullptr;
  std::string description =
      std::string(name) + " (" + std::to_string(static_cast<int>(result)) + ")";
  if (text)
    description += std::string(": ") + text;
  return description;
}

llvm::Error Driver::check(Result result, llvm::StringRef call,
                          const llvm::Twine &purpose) const {
  if (result == Success)
    return llvm::Error::success();
  ErrorKind kind = classify(result);
  std::string message = call.str();
  std::string what = purpose.str();
  if (!what.empty())
    message += " (" + what + ")";
  message += " failed: ";
  if (kind == ErrorKind::DeviceLost)
    message += "device lost, perhaps through an earlier kernel: ";
  message += describe(result);
  return llvm::make_error<DriverError>(kind, result, std::move(message));
}

bool Driver::forked() const { return process && process->isChild(); }

llvm::Error Driver::checkProcess(llvm::StringRef call) const {
  if (!forked())
    return llvm::Error::success();
  return refuse(ErrorKind::Forked, call,
                "the process that initialised the driver",
                "a child that was forked from it");
}
