//===- FakeCudaCode.cpp - Linking, loading and launching in the fake driver
//===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCudaCalls.h"

#include <cctype>

namespace fake_driver {
/// Names of kernels; their addresses are the handles of kernels and functions.
static std::set<std::string> &names = *new std::set<std::string>;

namespace {
struct FakeLink {
  std::string image;
  char *infoLog = nullptr, *errorLog = nullptr;
  size_t infoBytes = 0, errorBytes = 0;
};
} // namespace

/// Where an assembler's log goes.
static void readOptions(FakeLink &link, unsigned count, LinkOption *options,
                        void **values) {
  for (unsigned i = 0; i < count; ++i) {
    auto number = reinterpret_cast<uintptr_t>(values[i]);
    switch (options[i]) {
    case LinkOption::InfoLog:
      link.infoLog = static_cast<char *>(values[i]);
      break;
    case LinkOption::InfoLogBytes:
      link.infoBytes = static_cast<unsigned>(number);
      break;
    case LinkOption::ErrorLog:
      link.errorLog = static_cast<char *>(values[i]);
      break;
    case LinkOption::ErrorLogBytes:
      link.errorBytes = static_cast<unsigned>(number);
      break;
    case LinkOption::LogVerbose:
      state.verbose = number;
      break;
    case LinkOption::LineInfo:
      state.lineInfo = number;
      break;
    }
  }
}

/// Assembles: fails for PTX that has "bad" in it.
/// Not a part of one, as of the digest in a kernel's name.
static bool hasWord(const std::string &text, const std::string &word) {
  auto isPart = [&](size_t at) {
    return at < text.size() && (isalnum(text[at]) || text[at] == '_');
  };
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + 1))
    if (!isPart(at - 1) && !isPart(at + word.size()))
      return true;
  return false;
}

static Result assemble(FakeLink &link, const std::string &text) {
  bool hit = !state.linked.insert(text).second && state.cacheHits;
  write(link.infoLog, link.infoBytes, hit ? "info : as before" : state.infoLog);
  if (hasWord(text, "bad")) {
    write(link.errorLog, link.errorBytes,
          "ptxas kernel.ptx, line 3; error : Unknown symbol 'bad'");
    return InvalidPTX;
  }
  write(link.errorLog, link.errorBytes, state.errorLog);
  link.image = fakeCubin(text);
  return Success;
}

Result linkCreate(unsigned count, LinkOption *options, void **values,
                  LinkHandle *link) {
  FAKE_IN_CONTEXT(cuLinkCreate);
  auto *linking = new FakeLink;
  readOptions(*linking, count, options, values);
  ++fake.links;
  *link = handle<LinkHandle>(linking);
  return Success;
}
Result linkAddData(LinkHandle link, LinkInput input, void *data, size_t bytes,
                   const char *, unsigned, LinkOption *, void **) {
  FAKE_IN_CONTEXT(cuLinkAddData);
  auto *linking = handle<FakeLink *>(link);
  std::string text(static_cast<char *>(data), bytes);
  fake.terminated = input == LinkInput::PTX && bytes && text.back() == 0;
  return assemble(*linking, text);
}
Result linkComplete(LinkHandle link, void **cubin, size_t *bytes) {
  FAKE_IN_CONTEXT(cuLinkComplete);
  auto *linking = handle<FakeLink *>(link);
  *cubin = linking->image.data();
  *bytes = linking->image.size();
  return Success;
}
Result linkDestroy(LinkHandle link) {
  FAKE_IN_CONTEXT(cuLinkDestroy);
  --fake.links;
  delete handle<FakeLink *>(link);
  return Success;
}

/// What follows the head of an ELF image, as far as its tables say; all up to a
/// zero if there are none, as in what fakeCubin makes.
static std::string textOfImage(const char *image) {
  auto at = [&](size_t offset, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, image + offset, bytes);
    return value;
  };
  if (!at(40, 8))
    return image + 64;
  size_t end = std::max(at(40, 8) + at(58, 2) * at(60, 2),
                        at(32, 8) + at(54, 2) * at(56, 2));
  return std::string(image + 64, image + end);
}

Result libraryLoadData(LibraryHandle *library, const void *image,
                       LinkOption *options, void **values, unsigned count,
                       int *, void **, unsigned) {
  FAKE_UNSAFE_IN_CONTEXT(cuLibraryLoadData);
  // PTX is text, and a cubin an ELF file.
  auto *bytes = static_cast<const char *>(image);
  FakeLink assembled;
  if (bytes[0] != 0x7f) {
    readOptions(assembled, count, options, values);
    if (Result result = assemble(assembled, bytes))
      return result;
    bytes = assembled.image.data();
  }
  fake.loadsNotRelaxed += captureMode != CaptureMode::Relaxed;
  if (!takeMemory(kLibraryBytes))
    return OutOfMemory;
  ++fake.libraries;
  *library = handle<LibraryHandle>(new std::string(textOfImage(bytes)));
  return Success;
}
Result libraryUnload(LibraryHandle library) {
  FAKE_UNSAFE(cuLibraryUnload);
  fake.loadsNotRelaxed += captureMode != CaptureMode::Relaxed;
  --fake.libraries;
  fake.usedBytes -= kLibraryBytes;
  delete handle<std::string *>(library);
  return Success;
}
Result libraryGetKernel(KernelHandle *kernel, LibraryHandle library,
                        const char *name) {
  FAKE(cuLibraryGetKernel);
  if (handle<std::string *>(library)->find(name) == std::string::npos)
    return NotFound;
  *kernel = handle<KernelHandle>(
      const_cast<std::string *>(&*names.insert(name).first));
  return Success;
}
Result kernelGetFunction(FunctionHandle *function, KernelHandle kernel) {
  FAKE_UNSAFE_IN_CONTEXT(cuKernelGetFunction);
  *function = handle<FunctionHandle>(handle<std::string *>(kernel));
  return Success;
}
Result kernelGetParamInfo(KernelHandle, size_t index, size_t *offset,
                          size_t *bytes) {
  FAKE(cuKernelGetParamInfo);
  if (index >= fake.parameterBytes.size())
    return InvalidValue;
  *offset = 8 * index;
  *bytes = fake.parameterBytes[index];
  return Success;
}
Result funcLoad(FunctionHandle) {
  FAKE_UNSAFE_IN_CONTEXT(cuFuncLoad);
  return Success;
}
Result funcGetAttribute(int *value, FunctionAttribute attribute,
                        FunctionHandle) {
  FAKE_IN_CONTEXT(cuFuncGetAttribute);
  switch (attribute) {
  case FunctionAttribute::MaxThreadsPerBlock:
    *value = fake.maxThreads;
    break;
  case FunctionAttribute::SharedBytes:
    *value = fake.staticSharedBytes;
    break;
  case FunctionAttribute::LocalBytes:
    *value = 16;
    break;
  case FunctionAttribute::NumRegisters:
    *value = 168;
    break;
  case FunctionAttribute::PTXVersion:
    *value = 80;
    break;
  case FunctionAttribute::BinaryVersion:
    *value = 90;
    break;
  case FunctionAttribute::MaxDynamicSharedBytes:
    *value = fake.dynamicShared;
    break;
  }
  return Success;
}
Result funcSetAttribute(FunctionHandle, FunctionAttribute attribute,
                        int value) {
  FAKE_IN_CONTEXT(cuFuncSetAttribute);
  if (attribute != FunctionAttribute::MaxDynamicSharedBytes ||
      value + fake.staticSharedBytes > fake.sharedBytesOptin)
    return InvalidValue;
  fake.dynamicShared = value;
  return Success;
}
std::vector<uint64_t> readParameters(FunctionHandle function,
                                     void **parameters) {
  std::vector<size_t> bytes = state.parameterBytes;
  if (auto known = state.parameterCounts.find(*handle<std::string *>(function));
      known != state.parameterCounts.end())
    bytes.assign(known->second, sizeof(uint64_t));
  std::vector<uint64_t> words;
  for (size_t i = 0; i < bytes.size(); ++i) {
    uint64_t value = 0;
    memcpy(&value, parameters[i], std::min(bytes[i], sizeof(value)));
    words.push_back(value);
  }
  return words;
}
void start(GraphLaunch launch) {
  state.isLost = *handle<std::string *>(launch.function) == "stop";
  state.launches.push_back({launch.config, std::move(launch.attributes),
                            std::move(launch.parameters), contextStack.back()});
}
Result launchKernelEx(const DriverLaunchConfig *config, FunctionHandle function,
                      void **parameters, void **) {
  FAKE_IN_CONTEXT(cuLaunchKernelEx);
  std::vector<uint64_t> words = readParameters(function, parameters);
  if (!capture(*config, function, words))
    start({*config,
           {config->attributes, config->attributes + config->numAttributes},
           function,
           std::move(words)});
  return Success;
}
Result tensorMapEncodeTiled(TensorMap *map, ElementType type, uint32_t rank,
                            void *base, const uint64_t *dims,
                            const uint64_t *strides, const uint32_t *box,
                            const uint32_t *elementStrides,
                            Interleave interleave, Swizzle swizzle,
                            L2Promotion promotion, OutOfBoundsFill fill) {
  FAKE_IN_CONTEXT(cuTensorMapEncodeTiled);
  fake.maps.push_back({type,
                       reinterpret_cast<uintptr_t>(base),
                       {dims, dims + rank},
                       {strides, strides + rank - 1},
                       {box, box + rank},
                       {elementStrides, elementStrides + rank},
                       static_cast<int>(swizzle),
                       static_cast<int>(promotion),
                       static_cast<int>(interleave),
                       static_cast<int>(fill)});
  *map = {};
  map->opaque[0] = 42;
  // Views that differ have maps that do.
  map->opaque[1] = reinterpret_cast<uintptr_t>(base);
  for (uint64_t stride : fake.maps.back().strides)
    map->opaque[2] = map->opaque[2] * 31 + stride;
  return Success;
}

} // namespace fake_driver
