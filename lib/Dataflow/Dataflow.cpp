//===- Dataflow.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dataflow/Dataflow.h"

#include <array>

using namespace mlir;
using namespace mlir::mla;

ArrayRef<std::unique_ptr<Dataflow>> mla::getDataflows() {
  // Never destroyed: a compilation that was given up may still be in a pass
  // when the process ends.
  static const auto *dataflows = new std::array<std::unique_ptr<Dataflow>, 3>{
      createHostBlocksDataflow(), createKeysAsMDataflow(),
      createRowsAsMDataflow()};
  return *dataflows;
}

const Dataflow *mla::findDataflow(StringRef name) {
  for (const std::unique_ptr<Dataflow> &dataflow : getDataflows())
    if (dataflow->getName() == name)
      return dataflow.get();
  return nullptr;
}
