//===- Flags.h ------------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Flags that are numbers, and the flags of the machine.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_FLAGS_H
#define MLA_JIT_TOOLS_FLAGS_H

#include "Command.h"
#include "PublicEngine.h"

#include <type_traits>

namespace mla_jit {

/// Says what a bad number should have been, through usageStream().
template <typename T> class NumberParser : public llvm::cl::basic_parser<T> {
public:
  explicit NumberParser(llvm::cl::Option &option)
      : llvm::cl::basic_parser<T>(option), option(option) {}
  /// For printing, which LLVM leaves to its own parser of the type.
  operator llvm::cl::parser<T>() const { return llvm::cl::parser<T>(option); }

  bool parse(llvm::cl::Option &of, llvm::StringRef name, llvm::StringRef text,
             T &value) {
    if (!convert(text, value))
      return false;
    return of.error("requires " + llvm::StringRef(kind()) + ", but got '" +
                        text + "'",
                    name, usageStream());
  }
  llvm::StringRef getValueName() const override { return "N"; }

private:
  llvm::cl::Option &option;

  static bool convert(llvm::StringRef text, T &value) {
    if constexpr (std::is_integral_v<T>)
      return text.getAsInteger(10, value);
    else
      return text.getAsDouble(value);
  }
  static const char *kind() {
    if constexpr (std::is_unsigned_v<T>)
      return "an integer from 0 to 2^64 - 1";
    else if constexpr (std::is_integral_v<T>)
      return "an integer of 64 bits";
    else
      return "a number";
  }
};

template <typename T>
using NumberFlag = llvm::cl::opt<T, false, NumberParser<T>>;
template <typename T>
using NumberListFlag = llvm::cl::list<T, bool, NumberParser<T>>;

/// --device
class DeviceFlag : public NumberFlag<int64_t> {
public:
  DeviceFlag(const llvm::cl::cat &category, const llvm::cl::sub &sub)
      : NumberFlag<int64_t>(
            "device",
            llvm::cl::desc("The CUDA driver's number of the GPU (default 0)"),
            llvm::cl::value_desc("N"), llvm::cl::init(0), category, sub) {}
  llvm::Expected<int> number() const;
};

/// --target, --device, --chip, --host-cpu and --workers.
class EngineFlags {
public:
  explicit EngineFlags(llvm::cl::SubCommand &sub) : sub(sub) {}
  /// What the flags say: a target that exists. Asks no driver.
  llvm::Expected<Machine> options() const;
  /// An engine of a CPU that LLVM knows, or of a GPU that is there or, with
  /// --chip, can be compiled for.
  llvm::Expected<std::unique_ptr<PublicEngine>> makeEngine() const;
  /// An error of an engine's options in terms of these flags.
  llvm::Error explain(llvm::Error error) const;

private:
  llvm::cl::SubCommand &sub;
  llvm::cl::OptionCategory category{"Machine"};
  llvm::cl::cat in{category};
  llvm::cl::sub ofSub{sub};
  llvm::cl::opt<std::string> target{
      "target",
      llvm::cl::desc("Where kernels run: host, cuda (an NVIDIA GPU), or\nthe "
                     "chip of a GPU, as sm_90a (default host)"),
      llvm::cl::value_desc("name"),
      llvm::cl::init("host"),
      in,
      ofSub};
  DeviceFlag device{in, ofSub};
  llvm::cl::opt<std::string> chip{
      "chip",
      llvm::cl::desc("GPU to compile for, as sm_90a (default: that of\n"
                     "--device, which then has to be there)"),
      llvm::cl::value_desc("name"), in, ofSub};
  llvm::cl::opt<std::string> hostCPU{
      "host-cpu",
      llvm::cl::desc("CPU to compile for: native, x86-64-v3, "
                     "x86-64-v4,\nznver4, ... (default native)"),
      llvm::cl::value_desc("name"),
      llvm::cl::init("native"),
      in,
      ofSub};
  NumberFlag<int64_t> workers{
      "workers",
      llvm::cl::desc("Threads, or SMs of a GPU; 0: all that may be used\n"
                     "(default 0)"),
      llvm::cl::value_desc("N"),
      llvm::cl::init(0),
      in,
      ofSub};
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_FLAGS_H
