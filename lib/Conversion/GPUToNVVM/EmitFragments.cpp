//===- EmitFragments.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mla_gpu;

LogicalResult NVVMEmitter::emitFragmentOp(Operation &op) {
  // Constants lie outside of roles too: all threads have the same registers.
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return emitSplat(*this, constant);
  if (roleThreads() != kWarpgroupWarps * kWarpThreads)
    return op.emitOpError("requires a role of ")
           << kWarpgroupWarps << " warps for fragments, but got one of "
           << roleThreads() / kWarpThreads;
  using Op = Operation *;
  return llvm::TypeSwitch<Op, LogicalResult>(&op)
      .Case([&](MmaOp op) { return emitMma(*this, op); })
      .Case([&](MmaWaitOp op) { return emitMmaWait(*this, op); })
      .Case([&](LoadSharedOp op) { return emitLoadShared(*this, op); })
      .Case([&](StoreSharedOp op) { return emitStoreShared(*this, op); })
      .Case([&](ExchangeOp op) { return emitExchange(*this, op); })
      .Case([&](StoreRowsOp op) { return emitStoreRows(*this, op); })
      .Case([&](RowReduceOp op) { return emitRowReduce(*this, op); })
      .Case([&](BroadcastOp op) { return emitBroadcast(*this, op); })
      .Case([&](IotaOp op) { return emitIota(*this, op); })
      .Case([&](ConvertLayoutOp op) { return emitConvertLayout(*this, op); })
      .Case([&](IfAnyOp op) { return emitIfAny(*this, op); })
      .Case([&](MapOp op) { return emitMap(*this, op); })
      .Default([&](Op op) { return emitElementwise(*this, *op); });
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

ThreadPosition::ThreadPosition(NVVMEmitter &e)
    : warp(e.warp()), lane(e.opaque(e.lane())), group(e.shr(lane, 2)),
      quad(e.andi(lane, 3)), e(e) {}

Value ThreadPosition::get(ThreadPart part, bool rowsAsM) {
  switch (part) {
  case ThreadPart::AlongM:
    return e.add(e.shl(warp, 4), group);
  case ThreadPart::AlongN:
    return e.shl(quad, 1);
  case ThreadPart::Sharer:
    return rowsAsM ? quad : e.add(e.shl(warp, 3), group);
  }
  llvm_unreachable("all parts are covered");
}

Value ThreadPosition::coordinate(const FragmentLayout &layout, unsigned dim,
                                 int64_t element) {
  Value part = get(layout.getThreadPart(dim), layout.isRowsAsM());
  int64_t base = layout.getBase(dim, element);
  return base ? e.add(part, e.i32(base)) : part;
}

Value mla_gpu::shuffleXor(NVVMEmitter &e, Value value, int64_t mask) {
  return NVVM::ShflOp::create(e.b, e.loc, value.getType(), e.i32(-1), value,
                              e.i32(mask), e.i32(kWarpThreads - 1),
                              NVVM::ShflKind::bfly, UnitAttr());
}

Value mla_gpu::testBit(NVVMEmitter &e, Value value, int64_t bit) {
  return e.cmp(arith::CmpIPredicate::ne, e.andi(value, bit), e.i32(0));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value mla_gpu::sharedPointer(NVVMEmitter &e, Value address) {
  auto type = LLVM::LLVMPointerType::get(
      e.b.getContext(), unsigned(NVVM::NVVMMemorySpace::Shared));
  return LLVM::IntToPtrOp::create(e.b, e.loc, type, address);
}

Value mla_gpu::advance(NVVMEmitter &e, Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(e.b, e.loc, pointer.getType(), e.b.getI8Type(),
                             pointer, LLVM::GEPArg(int32_t(bytes)));
}

static int64_t bytesOf(Type type, int64_t count) {
  return type.getIntOrFloatBitWidth() / 8 * count;
}

SmallVector<Value> mla_gpu::loadWords(NVVMEmitter &e, Value pointer, Type type,
                                      int64_t count) {
  int64_t bytes = bytesOf(type, count);
  if (count == 1)
    return {LLVM::LoadOp::create(e.b, e.loc, type, pointer, bytes)};
  Value all = LLVM::LoadOp::create(e.b, e.loc, VectorType::get(count, type),
                                   pointer, bytes);
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(LLVM::ExtractElementOp::create(e.b, e.loc, all, e.i32(i)));
  return words;
}

void mla_gpu::storeWords(NVVMEmitter &e, Value pointer, ValueRange words) {
  Type type = words.front().getType();
  int64_t count = words.size(), bytes = bytesOf(type, count);
  Value all = words.front();
  if (count > 1) {
    all = LLVM::UndefOp::create(e.b, e.loc, VectorType::get(count, type));
    for (auto [i, word] : llvm::enumerate(words))
      all = LLVM::InsertElementOp::create(e.b, e.loc, all, word, e.i32(i));
  }
  LLVM::StoreOp::create(e.b, e.loc, all, pointer, bytes);
}
