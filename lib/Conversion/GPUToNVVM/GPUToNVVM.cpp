//===- GPUToNVVM.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Entries of the gpu level as kernels: parameters, launches and checks.
//
//===----------------------------------------------------------------------===//

#include "ApproximateMath.h"
#include "NVVMEmitter.h"
#include "mla/Conversion/Passes.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::mla_gpu;
using mla::EntryAttr;
using mla::KernelAttr;
using mla::LaunchAttr;
using mla::MLADialect;
using mla::ParamAttr;
using mla::ParamKind;
using mla::TargetAttr;

namespace mlir::mla {
#define GEN_PASS_DEF_CONVERTGPUTONVVM
#include "mla/Conversion/Passes.h.inc"
} // namespace mlir::mla

static constexpr StringLiteral kChip = "sm_90a";
static constexpr StringLiteral kCtasPerWorker = "mla_gpu.ctas_per_worker",
                               kCluster = "mla_gpu.cluster";
/// What a launch gives without parameters.
static constexpr StringLiteral kWorker = "worker", kNumWorkers = "num_workers";
static constexpr int64_t kMaxThreads = 1024, kSharedAlignment = 1024;
static constexpr int64_t kTensorMapBytes = 128, kTensorMapAlignment = 64;
/// That a launch gives each tensor in its workspace: what is asked of it at run
/// time is then known.
static constexpr int64_t kWorkspaceAlignment = 256;

namespace {

/// A kernel in the making: its parameters, and what they are called.
struct Parameters {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<ParamAttr> descriptions;
};

/// Makes the kernel of one entry.
class KernelBuilder {
public:
  KernelBuilder(func::FuncOp func, TargetAttr target)
      : func(func), target(target), b(func), context(func.getContext()) {}

  /// Puts the kernel in the place of the function, and describes it.
  FailureOr<EntryAttr> build();

private:
  LogicalResult checkThreads(int64_t threads);
  FailureOr<Parameters> collectParameters();
  /// Gives the emitter what the kernel's parameters are to the function.
  void mapArguments(NVVMEmitter &emitter, ValueRange params);
  StringAttr nameOf(BlockArgument argument) {
    return func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                             MLADialect::kName);
  }
  bool isWorkspace(StringAttr name) {
    auto kernel = func->getParentOfType<ModuleOp>()->getAttrOfType<KernelAttr>(
        MLADialect::kKernel);
    return llvm::any_of(kernel.getWorkspace(), [&](mla::BufferAttr buffer) {
      return buffer.getName() == name;
    });
  }
  bool isGiven(BlockArgument argument) {
    StringRef name = nameOf(argument);
    return argument.getType().isIndex() &&
           (name == kWorker || name == kNumWorkers);
  }

  func::FuncOp func;
  TargetAttr target;
  OpBuilder b;
  MLIRContext *context;
};

} // namespace

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Sizes and strides of a memref that a launch gives, as parameters of that
/// kind are numbered: dimensions whose value is dynamic. Strides of a
/// contiguous memref follow from its sizes.
static void forEachDynamic(MemRefType type,
                           llvm::function_ref<void(ParamKind, int64_t)> f) {
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      f(ParamKind::Size, dim);
  if (type.getLayout().isIdentity())
    return;
  auto [strides, offset] = type.getStridesAndOffset();
  for (auto [dim, stride] : llvm::enumerate(strides))
    if (ShapedType::isDynamic(stride))
      f(ParamKind::Stride, dim);
}

FailureOr<Parameters> KernelBuilder::collectParameters() {
  Parameters result;
  DictionaryAttr none = b.getDictionaryAttr({});
  DictionaryAttr aligned = b.getDictionaryAttr(
      {b.getNamedAttr("llvm.align", b.getI64IntegerAttr(kWorkspaceAlignment))});
  for (BlockArgument argument : func.getArguments()) {
    unsigned number = argument.getArgNumber();
    StringAttr name = nameOf(argument);
    if (!name)
      return func.emitError("requires '")
             << MLADialect::kName << "' on argument " << number;
    if (argument.use_empty() || isGiven(argument))
      continue;
    auto append = [&](Type type, ParamKind kind, int64_t dim,
                      DictionaryAttr attributes) {
      result.types.push_back(type);
      result.attributes.push_back(attributes);
      result.descriptions.push_back(ParamAttr::get(context, name, kind, dim));
    };
    Type type = argument.getType();
    if (isa<TensorMapType>(type)) {
      auto recipe = func.getArgAttrOfType<mla::TensorMapAttr>(
          number, MLADialect::kTensorMap);
      if (!recipe)
        return func.emitError("requires '")
               << MLADialect::kTensorMap << "' on argument '" << name.getValue()
               << "'";
      Type bytes = LLVM::LLVMArrayType::get(b.getI8Type(), kTensorMapBytes);
      append(LLVM::LLVMPointerType::get(context), ParamKind::TensorMap, 0,
             b.getDictionaryAttr(
                 {b.getNamedAttr("llvm.byval", TypeAttr::get(bytes)),
                  b.getNamedAttr("llvm.align",
                                 b.getI64IntegerAttr(kTensorMapAlignment)),
                  b.getNamedAttr("nvvm.grid_constant", b.getUnitAttr())}));
      result.descriptions.back() =
          ParamAttr::get(context, name, ParamKind::TensorMap, 0, recipe);
    } else if (auto memref = dyn_cast<MemRefType>(type)) {
      if (!memref.isStrided())
        return func.emitError("requires a strided memref as argument '")
               << name.getValue() << "', but got " << memref;
      append(LLVM::LLVMPointerType::get(context, kGlobalSpace),
             ParamKind::Pointer, 0, isWorkspace(name) ? aligned : none);
      forEachDynamic(memref, [&](ParamKind kind, int64_t dim) {
        append(b.getI64Type(), kind, dim, none);
      });
    } else if (type.isIntOrFloat()) {
      append(type, ParamKind::Scalar, 0, none);
    } else {
      return func.emitError("requires a memref, a tensor map, an integer or a "
                            "float as argument '")
             << name.getValue() << "', but got " << type;
    }
  }
  return result;
}

void KernelBuilder::mapArguments(NVVMEmitter &emitter, ValueRange params) {
  auto take = [&] {
    Value next = params.front();
    params = params.drop_front();
    return next;
  };
  for (BlockArgument argument : func.getArguments()) {
    if (argument.use_empty())
      continue;
    if (isGiven(argument)) {
      bool isCount = nameOf(argument).getValue() == kNumWorkers;
      emitter.map(argument,
                  emitter.ptx(isCount ? "mov.u32 $0, %nctaid.x;"
                                      : "mov.u32 $0, %ctaid.x;",
                              "=r", b.getI32Type(), {}, /*pure=*/true));
      continue;
    }
    auto memref = dyn_cast<MemRefType>(argument.getType());
    if (!memref) {
      emitter.map(argument, take());
      continue;
    }
    GlobalMemory memory;
    memory.elementType = memref.getElementType();
    memory.pointer = take();
    auto [strides, offset] = memref.getStridesAndOffset();
    auto asFoldResult = [&](int64_t value) -> OpFoldResult {
      if (ShapedType::isDynamic(value))
        return {};
      return b.getI64IntegerAttr(value);
    };
    for (int64_t size : memref.getShape())
      memory.sizes.push_back(asFoldResult(size));
    for (int64_t stride : strides)
      memory.strides.push_back(asFoldResult(stride));
    forEachDynamic(memref, [&](ParamKind kind, int64_t dim) {
      (kind == ParamKind::Size ? memory.sizes : memory.strides)[dim] = take();
    });
    // Of a contiguous memref: the elements of what is inside.
    for (int64_t dim = memref.getRank() - 2; dim >= 0; --dim) {
      if (!memory.strides[dim].isNull())
        continue;
      auto asValue = [&](OpFoldResult value) -> Value {
        if (auto attr = dyn_cast<Attribute>(value))
          return emitter.i64(cast<IntegerAttr>(attr).getInt());
        return cast<Value>(value);
      };
      memory.strides[dim] = emitter.mul(asValue(memory.strides[dim + 1]),
                                        asValue(memory.sizes[dim + 1]));
    }
    emitter.mapMemory(argument, std::move(memory));
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult KernelBuilder::checkThreads(int64_t threads) {
  if (threads < kWarpThreads || threads > kMaxThreads)
    return func.emitError("requires 1 to ")
           << kMaxThreads / kWarpThreads
           << " warps, by 'mla_gpu.warps' or roles, but got "
           << threads / kWarpThreads;
  if (llvm::range_size(func.getOps<WarpSpecializeOp>()) > 1)
    return func.emitError("requires one group of roles");
  if (!llvm::hasSingleElement(func.getBody()))
    return func.emitError("requires structured control flow");
  return success();
}

/// Whether an op, or one within it, reads or writes memory, or may.
static bool touchesMemory(Operation &op) {
  if (isa<AllocOp, PipelineOp>(op))
    return false;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(&op);
  return !effects || llvm::any_of(*effects, [](const auto &effect) {
    return isa<MemoryEffects::Read, MemoryEffects::Write>(effect.getEffect());
  });
}

/// Whether an entry may be started before the launch ahead has ended. The first
/// one has to wait before it touches any memory; a later one waits where it
/// needs what the entry ahead wrote.
static bool isDependent(func::FuncOp func) {
  bool isFirst =
      func->getAttrOfType<IntegerAttr>(MLADialect::kEntry).getInt() == 0;
  for (Operation &op : func.front()) {
    if (isa<GridWaitOp>(op))
      return true;
    if (isFirst && touchesMemory(op))
      return false;
  }
  return false;
}

/// Integer divisions that round up or down are made of those that LLVM has.
static void expandDivisions(LLVM::LLVMFuncOp kernel) {
  RewritePatternSet patterns(kernel.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  walkAndApplyPatterns(kernel, std::move(patterns));
}

FailureOr<EntryAttr> KernelBuilder::build() {
  FailureOr<Parameters> params = collectParameters();
  if (failed(params))
    return failure();
  Location loc = func.getLoc();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          params->types);
  auto kernel = LLVM::LLVMFuncOp::create(b, loc, func.getSymName(), type);
  kernel.setAllArgAttrs(params->attributes);
  b.setInsertionPointToStart(kernel.addEntryBlock(b));

  NVVMEmitter emitter(b, func);
  int64_t threads = emitter.threadsOfCTA();
  if (failed(checkThreads(threads)))
    return failure();
  mapArguments(emitter, kernel.getArguments());
  if (failed(emitter.emitFunction()))
    return failure();
  LLVM::ReturnOp::create(b, loc, ValueRange());
  if (emitter.sharedBytes() > target.getSmemBytes())
    return func.emitError("requires ")
           << emitter.sharedBytes()
           << " bytes of shared memory, but the target has "
           << target.getSmemBytes() << " a CTA";
  if (failed(approximateMath(kernel)))
    return failure();
  expandDivisions(kernel);

  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  b.getDenseI32ArrayAttr({int32_t(threads)}));
  // Those that say how many there are of a worker share its SM with a CTA of
  // the launch before: each takes a quarter of the registers, or all together
  // half.
  auto ctas = func->getAttrOfType<IntegerAttr>(kCtasPerWorker);
  kernel->setAttr(
      NVVM::NVVMDialect::getMinctasmAttrName(),
      b.getI32IntegerAttr(ctas ? std::max<int64_t>(2 * ctas.getInt(), 4) : 1));
  auto cluster = func->getAttrOfType<IntegerAttr>(kCluster);
  auto launch = LaunchAttr::get(context, threads, emitter.sharedBytes(),
                                ctas ? ctas.getInt() : 1, isDependent(func),
                                cluster ? cluster.getInt() : 1);
  auto entry = EntryAttr::get(context, kernel.getSymNameAttr(),
                              params->descriptions, launch);
  func.erase();
  return entry;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertGPUToNVVM
    : public mla::impl::ConvertGPUToNVVMBase<ConvertGPUToNVVM> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(convert()))
      signalPassFailure();
  }

  LogicalResult convert() {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<func::FuncOp>> funcs = mla::collectEntries(module);
    if (failed(funcs))
      return failure();
    if (funcs->empty())
      return success();
    auto target = module->getAttrOfType<TargetAttr>(MLADialect::kTarget);
    if (!target || !target.isCuda() || target.getChip() != kChip) {
      InFlightDiagnostic error = module.emitError("requires '")
                                 << MLADialect::kTarget << "' to be cuda, chip "
                                 << kChip << ", but got ";
      return target ? error << target : error << "none";
    }
    auto described = module->getAttrOfType<KernelAttr>(MLADialect::kKernel);
    if (!described)
      return module.emitError("requires '")
             << MLADialect::kKernel << "', which names the entries";

    OpBuilder b(module.getBodyRegion());
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(
        b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, kSharedPool,
        /*value=*/Attribute(), kSharedAlignment, kSharedSpace);
    DenseMap<StringAttr, EntryAttr> built;
    for (func::FuncOp func : *funcs) {
      StringAttr name = func.getSymNameAttr();
      FailureOr<EntryAttr> entry = KernelBuilder(func, target).build();
      if (failed(entry))
        return failure();
      built[name] = *entry;
    }

    SmallVector<EntryAttr> entries;
    for (EntryAttr entry : described.getEntries()) {
      EntryAttr complete = built.lookup(entry.getSymbol());
      if (!complete)
        return module.emitError("requires a function with '")
               << MLADialect::kEntry << "' for the entry " << entry.getSymbol();
      entries.push_back(complete);
    }
    module->setAttr(
        MLADialect::kKernel,
        KernelAttr::get(module.getContext(), described.getArguments(), entries,
                        described.getWorkspace(), described.getSchedule(),
                        described.getMask(), described.getKvHeads(),
                        described.getGroup()));
    return success();
  }
};
} // namespace
