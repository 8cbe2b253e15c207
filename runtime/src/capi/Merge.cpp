//===- Merge.cpp ----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

using namespace mla_jit;
using namespace mla_jit::capi;

static llvm::Error checkFlags(const mla_merge_args &args, bool isGPU) {
  if (args.flags & ~MLA_LAUNCH_PDL_WAIT)
    return invalid(ofArgument("flags"),
                   "requires MLA_LAUNCH_PDL_WAIT or 0, but got {0:x}",
                   args.flags);
  if (args.flags && !isGPU)
    return unsupported(ofArgument("flags"),
                       "requires no MLA_LAUNCH_PDL_* for a kernel of the host: "
                       "a launch returns when it is done");
  return requireCounts(
      {{"max_ctas", args.max_ctas}, {"reserved", args.reserved}});
}

static llvm::Error setTensors(const mla_merge_args &args,
                              Arguments &arguments) {
  for (auto [name, given] : {std::pair{"parts", &args.parts},
                             {"lse_parts", &args.lse_parts},
                             {"out", &args.out},
                             {"lse", &args.lse}}) {
    Tensor tensor;
    if (llvm::Error error = readTensor(name, *given, tensor))
      return error;
    if (!tensor.given() && std::string_view(name) == "lse") {
      // One that is not wanted is one without memory.
      tensor = arguments.tensor("out");
      tensor.data = nullptr;
      tensor.dtype = DType::F32;
      tensor.rank = 2;
    }
    if (!tensor.given())
      return invalid(ofArgument(name), "requires a tensor, but got none");
    if (llvm::Error error = arguments.set(name, tensor))
      return error;
  }
  return llvm::Error::success();
}

static llvm::Error merge(const Kernel &kernel, void *stream,
                         const mla_merge_args *args) {
  auto given = readStruct(args, "args");
  if (!given)
    return given.takeError();
  const KernelInfo &info = *kernel.info();
  if (!info.isMerge)
    return invalid(ofArgument("kernel"),
                   "requires one of MLA_MERGE, but got one of MLA_DECODE");
  if (llvm::Error error = checkFlags(*given, !info.chip.empty()))
    return error;
  Arguments arguments(kernel.argumentRules());
  if (llvm::Error error = setTensors(*given, arguments))
    return error;
  if (llvm::Error error =
          setLSEForm(given->lse_base, given->lse_empty_posinf, arguments))
    return error;
  arguments.limitWorkers(given->max_ctas);
  arguments.setDependent(given->flags & MLA_LAUNCH_PDL_WAIT);
  return kernel.launch(arguments, /*workspace=*/nullptr, 0, stream);
}

mla_code mla_merge(mla_kernel *handle, void *stream, const mla_merge_args *args,
                   mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  if (llvm::Error error = merge(*handle->kernel, stream, args)) {
    handle->shared->launches.add(LaunchEvent::Failed);
    return report(status, std::move(error));
  }
  handle->shared->launches.add(LaunchEvent::Done);
  return succeed(status);
} catch (...) {
  return reportException(status);
}
