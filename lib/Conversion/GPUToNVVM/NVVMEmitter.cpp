//===- NVVMEmitter.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Values, types, inline PTX and addresses.
//
//===----------------------------------------------------------------------===//

#include "NVVMEmitter.h"
#include "FragmentLayout.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::mla_gpu;

static constexpr StringLiteral kWarps = "mla_gpu.warps";
/// Bytes of the runs of a swizzle that are permuted, and of the whole pattern.
static constexpr int64_t kSwizzleChunk = 16, kSwizzleRow = 128;

NVVMEmitter::NVVMEmitter(OpBuilder &builder, func::FuncOp func)
    : b(builder), loc(func.getLoc()), func(func) {
  int64_t warps = 0;
  if (auto attr = func->getAttrOfType<IntegerAttr>(kWarps))
    warps = attr.getInt();
  for (auto roles : func.getOps<WarpSpecializeOp>()) {
    warps = 0;
    for (int64_t n : roles.getWarps())
      warps += n;
  }
  numThreads = warps * kWarpThreads;
  hasMma =
      func.walk([](MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  role = {warps, 0, {}, {}, {}, hasMma};
}

LogicalResult NVVMEmitter::emitFunction() {
  ctaThread =
      ptx("mov.u32 $0, %tid.x;", "=r", b.getI32Type(), {}, true).front();
  role.thread = ctaThread;
  role.warp = uniform(shr(ctaThread, 5));
  Value smem = LLVM::AddressOfOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace),
      kSharedPool);
  pool = LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), smem);
  allocate();
  declarePipelines();
  if (!func.getOps<WarpSpecializeOp>().empty())
    initBarriers();
  return emitBlock(func.getBody().front());
}

LogicalResult NVVMEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitOp(op)))
      return failure();
  return success();
}

LogicalResult NVVMEmitter::emitOp(Operation &op) {
  llvm::SaveAndRestore location(loc, op.getLoc());
  llvm::SaveAndRestore current(currentOp, &op);
  if (auto scan = dyn_cast<ScanOp>(op))
    return emitScan(scan);
  if (auto merge = dyn_cast<MergeOp>(op))
    return emitMerge(merge);
  if (auto merge = dyn_cast<MergeRowsOp>(op))
    return emitMergeRows(merge);
  if (isa<AllocOp, ViewOp, PipelineOp, AcquireOp, CommitOp, WaitOp, ReleaseOp,
          WarpSpecializeOp, GridWaitOp, GridLaunchDependentsOp>(op))
    return emitPipelineOp(op);
  if (isa<TMALoadOp, GatherOp, ClearRowsOp>(op))
    return emitCopyOp(op);
  if (isa<scf::ForOp, scf::IfOp>(op))
    return emitScalarOp(op);
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  if (isa<MLAGPUDialect>(op.getDialect()) ||
      llvm::any_of(op.getOperandTypes(), isTensor) ||
      llvm::any_of(op.getResultTypes(), isTensor)) {
    if (failed(emitFragmentOp(op)))
      return failure();
    if (auto wait = dyn_cast<MmaWaitOp>(op))
      endMmaReads(wait);
    return success();
  }
  return emitScalarOp(op);
}

//===----------------------------------------------------------------------===//
// Values and types
//===----------------------------------------------------------------------===//

ArrayRef<Value> NVVMEmitter::registers(Value value) {
  auto found = values.find(value);
  assert(found != values.end() && "value has no registers");
  return found->second;
}

void NVVMEmitter::map(Value value, ValueRange registers) {
  auto *copy = allocator.Allocate<Value>(registers.size());
  llvm::uninitialized_copy(registers, copy);
  values[value] = ArrayRef(copy, registers.size());
}

void NVVMEmitter::mapMemory(Value memref, GlobalMemory memory) {
  memories[memref] = std::make_unique<GlobalMemory>(std::move(memory));
}

void NVVMEmitter::mapTile(Value value, SharedTile tile) {
  tiles[value] = std::make_unique<SharedTile>(tile);
}

Type NVVMEmitter::convertScalar(Type type) {
  if (type.isIndex())
    return b.getI32Type();
  if (isa<TensorMapType>(type))
    return LLVM::LLVMPointerType::get(b.getContext());
  return type;
}

SmallVector<Type> NVVMEmitter::convertType(Type type) {
  if (auto inflight = dyn_cast<InflightType>(type))
    type = inflight.getValue();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return getFragmentTypes(tensor);
  return {convertScalar(type)};
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value NVVMEmitter::i32(int64_t value) {
  return constant(b.getI32IntegerAttr(value));
}

Value NVVMEmitter::i64(int64_t value) {
  return constant(b.getI64IntegerAttr(value));
}

Value NVVMEmitter::f32(float value) {
  return constant(b.getF32FloatAttr(value));
}

Value NVVMEmitter::andi(Value x, int64_t mask) {
  return arith::AndIOp::create(b, loc, x, i32(mask));
}

Value NVVMEmitter::shl(Value x, int64_t bits) {
  return bits ? Value(arith::ShLIOp::create(b, loc, x, i32(bits))) : x;
}

Value NVVMEmitter::shr(Value x, int64_t bits) {
  return bits ? Value(arith::ShRUIOp::create(b, loc, x, i32(bits))) : x;
}

void NVVMEmitter::emitIf(Value condition, llvm::function_ref<void()> body) {
  Hazards before = hazards;
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    body();
  }
  hazards.merge(before);
}

SmallVector<Value>
NVVMEmitter::emitIf(Value condition, TypeRange types,
                    llvm::function_ref<SmallVector<Value>()> whenTrue,
                    llvm::function_ref<SmallVector<Value>()> whenFalse) {
  Hazards before = hazards, afterTrue;
  auto branch =
      scf::IfOp::create(b, loc, types, condition, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    auto emit = [&](Block &block, llvm::function_ref<SmallVector<Value>()> f) {
      // Without results, the builder has put a yield there.
      if (!block.empty())
        block.back().erase();
      b.setInsertionPointToEnd(&block);
      SmallVector<Value> results = f();
      scf::YieldOp::create(b, loc, results);
    };
    emit(*branch.thenBlock(), whenTrue);
    afterTrue = std::exchange(hazards, before);
    emit(*branch.elseBlock(), whenFalse);
  }
  hazards.merge(afterTrue);
  return branch.getResults();
}

SmallVector<Value> NVVMEmitter::ptx(StringRef text, StringRef constraints,
                                    TypeRange outputs, ValueRange inputs,
                                    bool pure) {
  MLIRContext *context = b.getContext();
  Type type;
  if (outputs.size() == 1)
    type = outputs.front();
  else if (outputs.size() > 1)
    type = LLVM::LLVMStructType::getLiteral(context, llvm::to_vector(outputs));
  auto op = LLVM::InlineAsmOp::create(
      b, loc, type ? TypeRange(type) : TypeRange(), inputs, text, constraints,
      /*has_side_effects=*/!pure, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None, /*asm_dialect=*/nullptr,
      /*operand_attrs=*/nullptr);
  if (outputs.empty())
    return {};
  if (outputs.size() == 1)
    return {op.getRes()};
  SmallVector<Value> results;
  for (size_t i = 0; i < outputs.size(); ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, loc, op.getRes(), i));
  return results;
}

Value NVVMEmitter::elementPointer(const GlobalMemory &memory,
                                  ValueRange indices) {
  Value offset;
  for (auto [index, stride] : llvm::zip_equal(indices, memory.strides)) {
    Value term = arith::ExtSIOp::create(b, loc, b.getI64Type(), index);
    auto attr = dyn_cast<Attribute>(stride);
    if (!attr || cast<IntegerAttr>(attr).getInt() != 1)
      term = mul(term, attr ? i64(cast<IntegerAttr>(attr).getInt())
                            : cast<Value>(stride));
    offset = offset ? add(offset, term) : term;
  }
  if (!offset)
    return memory.pointer;
  // In memory, an i1 is a byte, and an index is what it is in registers.
  Type element = convertScalar(memory.elementType);
  if (element.isInteger(1))
    element = b.getI8Type();
  return LLVM::GEPOp::create(b, loc, memory.pointer.getType(), element,
                             memory.pointer, offset);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value NVVMEmitter::uniform(Value value) {
  Type type = value.getType();
  auto broadcast = [&](Value word) {
    return ptx("shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "=r,r", b.getI32Type(),
               word)
        .front();
  };
  if (type.isInteger(32))
    return broadcast(value);
  if (type.isInteger(64)) {
    Value low = arith::TruncIOp::create(b, loc, b.getI32Type(), value);
    Value high = arith::TruncIOp::create(
        b, loc, b.getI32Type(), arith::ShRUIOp::create(b, loc, value, i64(32)));
    auto widen = [&](Value word) -> Value {
      return arith::ExtUIOp::create(b, loc, type, broadcast(word));
    };
    return arith::OrIOp::create(
        b, loc, widen(low),
        arith::ShLIOp::create(b, loc, widen(high), i64(32)));
  }
  Value word = arith::ExtUIOp::create(b, loc, b.getI32Type(), value);
  return arith::TruncIOp::create(b, loc, type, broadcast(word));
}

Value NVVMEmitter::opaque(Value value) {
  if (!role.countsRegisters)
    return value;
  return ptx("mov.b32 $0, $1;", "=r,r", value.getType(), value).front();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

int64_t NVVMEmitter::reserveShared(int64_t bytes, int64_t alignment) {
  int64_t offset = llvm::alignTo(usedShared, alignment);
  usedShared = offset + bytes;
  return offset;
}

int64_t NVVMEmitter::reserveScratch(int64_t bytes, int64_t alignment) {
  int64_t offset = llvm::alignTo(usedScratch, alignment);
  if (offset + bytes > tileBytes)
    return reserveShared(bytes, alignment);
  usedScratch = offset + bytes;
  return offset;
}

Value NVVMEmitter::sharedAddress(int64_t offset) {
  return offset ? add(pool, i32(offset)) : pool;
}

Value NVVMEmitter::elementAddress(const SharedTile &tile, Value row,
                                  Value column) {
  int64_t bytes = tile.type.getElementType().getIntOrFloatBitWidth() / 8;
  if (tile.beginColumn)
    column = add(column, i32(tile.beginColumn));
  int64_t swizzle = tile.type.getSwizzle();
  if (!swizzle) {
    Value element =
        tile.rows == 1 ? column : add(mul(row, i32(tile.columns)), column);
    return add(tile.address, mul(element, i32(bytes)));
  }
  int64_t width = tile.type.getSwizzleColumns();
  Value run = arith::DivUIOp::create(b, loc, column, i32(width));
  Value within = mul(andi(column, width - 1), i32(bytes));
  // 16-byte chunks of a run are permuted by the number of the 128-byte line
  // that it lies in.
  Value line = swizzle == kSwizzleRow
                   ? row
                   : shr(row, llvm::Log2_64(kSwizzleRow / swizzle));
  Value permutation =
      mul(andi(line, swizzle / kSwizzleChunk - 1), i32(kSwizzleChunk));
  Value address = add(tile.address, mul(run, i32(tile.rows * swizzle)));
  address = add(address, mul(row, i32(swizzle)));
  return add(address, xori(within, permutation));
}
