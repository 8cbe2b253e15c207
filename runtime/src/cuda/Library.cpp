//===- Library.cpp - Loaded code and its kernels --------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Library.h"

#include "AssemblerLog.h"
#include "Link.h"

#include "llvm/BinaryFormat/ELF.h"

#include <cstring>

using namespace mla_jit::cuda;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

/// Nothing if the bytes are an ELF file for NVIDIA devices with nothing cut
/// off.
static Error checkImage(llvm::StringRef image) {
  auto bad = [&](const Twine &what) {
    return refuse(ErrorKind::Compile, "cuLibraryLoadData",
                  "a whole cubin (an ELF file for NVIDIA devices)",
                  Twine(image.size()) + " bytes " + what);
  };
  using Header = llvm::ELF::Elf64_Ehdr;
  if (image.size() < sizeof(Header) || !image.starts_with(llvm::ELF::ElfMagic))
    return bad("that are no ELF file");
  Header header;
  memcpy(&header, image.data(), sizeof(header));
  if (header.getFileClass() != llvm::ELF::ELFCLASS64 ||
      header.e_machine != llvm::ELF::EM_CUDA)
    return bad("of ELF for machine " + Twine(header.e_machine));
  // The tables are at the end.
  auto ends = [&](uint64_t offset, uint64_t count, uint64_t each) {
    return offset > image.size() || count * each > image.size() - offset;
  };
  if (ends(header.e_shoff, header.e_shnum, header.e_shentsize) ||
      ends(header.e_phoff, header.e_phnum, header.e_phentsize))
    return bad("that end before their header says");
  return Error::success();
}

Library::Library(std::shared_ptr<const Context> context)
    : where(std::move(context)) {}

Expected<std::shared_ptr<const Library>>
Library::load(std::shared_ptr<const Context> context,
              const std::string &cubin) {
  if (Error error = checkImage(cubin))
    return std::move(error);
  Expected<ContextScope> scope = context->enter();
  if (!scope)
    return scope.takeError();
  const Driver &driver = context->driver();
  RelaxedCaptureScope relaxed(driver);
  std::shared_ptr<Library> library(new Library(std::move(context)));
  if (Error error = driver.check(driver.call().libraryLoadData(
                                     &library->library, cubin.data(), nullptr,
                                     nullptr, 0, nullptr, nullptr, 0),
                                 "cuLibraryLoadData",
                                 Twine(cubin.size()) + " bytes for " +
                                     library->where->device().chip)) {
    library->library = nullptr;
    return std::move(error);
  }
  return std::move(library);
}

Expected<std::shared_ptr<const Library>>
Library::assemble(std::shared_ptr<const Context> context,
                  const std::string &ptx) {
  if (ptx.empty())
    return refuse(ErrorKind::Invalid, "cuLibraryLoadData", "PTX", "no text");
  Expected<ContextScope> scope = context->enter();
  if (!scope)
    return scope.takeError();
  const Driver &driver = context->driver();
  RelaxedCaptureScope relaxed(driver);
  std::shared_ptr<Library> library(new Library(std::move(context)));
  library->log = std::make_unique<AssemblerLog>(LinkOptions().logBytes);
  AssemblerLog &log = *library->log;
  Result result = driver.call().libraryLoadData(
      &library->library, ptx.c_str(), log.optionNames(), log.optionValues(),
      log.count(), nullptr, nullptr, 0);
  if (result == Result::Success)
    return std::move(library);
  library->library = nullptr;
  ErrorKind kind = classifyAssembly(result);
  std::string message = "cuLibraryLoadData failed: " + driver.describe(result);
  if (kind == ErrorKind::Compile)
    message += describeMismatch(*library->where, ptx);
  return llvm::make_error<DriverError>(
      kind, result, message + "\n" + library->assemblerLog());
}

std::string Library::assemblerLog() const {
  if (!log)
    return "";
  std::string errors = log->errorText(), info = log->infoText();
  return errors + (errors.empty() || info.empty() ? "" : "\n") + info;
}

Library::~Library() {
  const Driver &driver = where->driver();
  if (!library || driver.forked())
    return;
  // Errors have nobody to go to: the context may be lost, or the driver may
  // have shut down before us.
  RelaxedCaptureScope relaxed(driver);
  driver.call().libraryUnload(library);
}

Expected<std::shared_ptr<const Function>>
Function::get(std::shared_ptr<const Library> library, const std::string &symbol,
              std::optional<llvm::ArrayRef<size_t>> parameterBytes) {
  Expected<ContextScope> scope = library->context()->enter();
  if (!scope)
    return scope.takeError();
  const Driver &driver = library->context()->driver();
  const DriverTable &call = driver.call();
  RelaxedCaptureScope relaxed(driver);
  LibraryHandle handle = library->handle();
  std::shared_ptr<Function> function(new Function(std::move(library)));
  function->what.symbol = symbol;
  std::string purpose = "kernel '" + symbol + "'";

  KernelHandle kernel = nullptr;
  if (Error error =
          driver.check(call.libraryGetKernel(&kernel, handle, symbol.c_str()),
                       "cuLibraryGetKernel", purpose))
    return std::move(error);
  // Gives the function of the current context, which loads its module there;
  // the function itself may still be loaded lazily, hence the second call.
  if (Error error =
          driver.check(call.kernelGetFunction(&function->function, kernel),
                       "cuKernelGetFunction", purpose))
    return std::move(error);
  if (call.funcLoad)
    if (Error error = driver.check(call.funcLoad(function->function),
                                   "cuFuncLoad", purpose))
      return std::move(error);
  if (Error error = function->query())
    return std::move(error);
  if (parameterBytes)
    if (Error error = function->checkParameters(kernel, *parameterBytes))
      return std::move(error);
  return std::move(function);
}

Error Function::query() {
  const Driver &driver = context().driver();
  const DriverTable &call = driver.call();
  const std::pair<FunctionAttribute, int *> attributes[] = {
      {FunctionAttribute::NumRegisters, &what.registers},
      {FunctionAttribute::LocalBytes, &what.localBytes},
      {FunctionAttribute::SharedBytes, &what.staticSharedBytes},
      {FunctionAttribute::MaxThreadsPerBlock, &what.maxThreads},
      {FunctionAttribute::PTXVersion, &what.ptxVersion},
      {FunctionAttribute::BinaryVersion, &what.binaryVersion},
  };
  for (auto [attribute, value] : attributes)
    if (Error error =
            driver.check(call.funcGetAttribute(value, attribute, function),
                         "cuFuncGetAttribute",
                         Twine(static_cast<int>(attribute)) + " of kernel '" +
                             what.symbol + "'"))
      return error;
  return Error::success();
}

Error Function::checkParameters(KernelHandle kernel,
                                llvm::ArrayRef<size_t> bytes) {
  what.parameters = static_cast<int>(bytes.size());
  const Driver &driver = context().driver();
  if (!driver.call().kernelGetParamInfo)
    return Error::success();
  // Never past the last one, although that would tell their number: an error,
  // even one that is expected, is what sanitizers count.
  for (size_t i = 0; i < bytes.size(); ++i) {
    size_t offset = 0, size = 0;
    if (Error error = driver.check(
            driver.call().kernelGetParamInfo(kernel, i, &offset, &size),
            "cuKernelGetParamInfo",
            "parameter " + Twine(i) + " of " + Twine(bytes.size()) +
                " of kernel '" + what.symbol + "'"))
      return error;
    if (size != bytes[i])
      return refuse(ErrorKind::Invalid,
                    "parameter " + std::to_string(i) + " of kernel '" +
                        what.symbol + "'",
                    Twine(size) + " bytes", Twine(bytes[i]));
  }
  return Error::success();
}

int Function::dynamicSharedLimit() const {
  return context().device().sharedBytesPerBlock - what.staticSharedBytes;
}

Error Function::allowDynamicShared(int64_t bytes) const {
  int limit = dynamicSharedLimit();
  if (bytes < 0 || bytes > limit)
    return refuse(ErrorKind::Unsupported,
                  "dynamic shared memory of kernel '" + what.symbol + "'",
                  "0 to " + Twine(limit) + " bytes (a block of " +
                      context().device().name + " has " +
                      Twine(context().device().sharedBytesPerBlock) +
                      ", the kernel's static part takes " +
                      Twine(what.staticSharedBytes) + ")",
                  Twine(bytes));
  if (bytes <= allowed)
    return Error::success();
  Expected<ContextScope> scope = context().enter();
  if (!scope)
    return scope.takeError();
  std::lock_guard lock(mutex);
  if (bytes <= allowed)
    return Error::success();
  // Always set, not only above 48 KiB: the static part counts there as well.
  const Driver &driver = context().driver();
  RelaxedCaptureScope relaxed(driver);
  if (Error error = driver.check(
          driver.call().funcSetAttribute(
              function, FunctionAttribute::MaxDynamicSharedBytes,
              static_cast<int>(bytes)),
          "cuFuncSetAttribute",
          Twine(bytes) + " bytes of dynamic shared memory for kernel '" +
              what.symbol + "'"))
    return error;
  allowed = bytes;
  return Error::success();
}
