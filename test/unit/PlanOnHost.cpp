//===- PlanOnHost.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanOnHost.h"
#include "DevicePlan.h"
#include "mla/Conversion/Passes.h"
#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using llvm::createStringError;

namespace mla_test {

/// A region's block, inlined at the builder; returns what it yields.
static SmallVector<Value> inlineBlock(OpBuilder &b, Region &region,
                                      ValueRange arguments) {
  IRMapping mapping;
  Block &block = region.front();
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

/// All counts first, then the second region from the last number to the first:
/// its order must not matter, nor may the counts depend on what it stores.
static void lowerScan(mla_gpu::ScanOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  int64_t counts = op.getNumResults();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto type = MemRefType::get({ShapedType::kDynamic, counts}, b.getIndexType());
  Value own = memref::AllocOp::create(b, loc, type, op.getCount());
  Value before = memref::AllocOp::create(b, loc, type, op.getCount());
  auto at = [&](int64_t i) {
    return arith::ConstantIndexOp::create(b, loc, i).getResult();
  };

  SmallVector<Value> init(counts, zero);
  auto loop = scf::ForOp::create(b, loc, zero, op.getCount(), one, init);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value i = loop.getInductionVar();
    SmallVector<Value> values = inlineBlock(b, op.getValues(), i), next;
    for (int64_t k = 0; k < counts; ++k) {
      Value sum = loop.getRegionIterArgs()[k];
      memref::StoreOp::create(b, loc, values[k], own, ValueRange{i, at(k)});
      memref::StoreOp::create(b, loc, sum, before, ValueRange{i, at(k)});
      bool isSum = cast<StringAttr>(op.getKinds()[k]).getValue() == "sum";
      next.push_back(
          isSum ? arith::AddIOp::create(b, loc, sum, values[k]).getResult()
                : arith::MaxSIOp::create(b, loc, sum, values[k]).getResult());
    }
    scf::YieldOp::create(b, loc, next);
  }
  if (!op.getThen().empty()) {
    auto then = scf::ForOp::create(b, loc, zero, op.getCount(), one);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(then.getBody());
    Value last = arith::SubIOp::create(b, loc, op.getCount(), one);
    Value i = arith::SubIOp::create(b, loc, last, then.getInductionVar());
    SmallVector<Value> arguments = {i};
    for (Value list : {before, own})
      for (int64_t k = 0; k < counts; ++k)
        arguments.push_back(
            memref::LoadOp::create(b, loc, list, ValueRange{i, at(k)}));
    inlineBlock(b, op.getThen(), arguments);
  }
  memref::DeallocOp::create(b, loc, own);
  memref::DeallocOp::create(b, loc, before);
  op->replaceAllUsesWith(loop.getResults());
  op.erase();
}

static std::string functionText(const PlanKind &kind) {
  auto number = [](int value) { return std::to_string(value); };
  bool windowed = kind.mask == "#mla.sliding_window";
  std::string s =
      "func.func @plan(%lens: memref<?xi32>, %offsets: memref<?xi32>,\n"
      "    %queries: index, %splits: i32, %window: i32, %worker: index,\n"
      "    %workers: index, %list: memref<?x8xi32>,\n"
      "    %range: memref<?x2xi32>, %split_list: memref<?x8xi32>,\n"
      "    %split_count: memref<?x1xi32>, %listed: memref<?x8xi32>,\n"
      "    %listed_count: memref<?x1xi32>)\n"
      "    attributes {llvm.emit_c_interface} {\n"
      "  %plan = mla.plan seq_lens(%lens : memref<?xi32>)\n";
  s +=
      kind.ragged ? "q_offsets(%offsets : memref<?xi32>)" : "queries(%queries)";
  s += " workers(%workers)";
  s += kind.hasSplits ? " splits(%splits)" : "";
  s += " mask(" + kind.mask + (windowed ? ", %window)" : ")");
  s += " heads = " + number(kind.heads) +
       " kv_heads = " + number(kind.kvHeads) +
       " tile = " + number(kind.blockM) + " x 64 split = " + kind.split +
       " split_tiles = " + number(kind.splitTiles);
  return s + "\n  return\n}\n";
}

/// The plan that launches share: what each worker of them finds.
static void emitPlan(func::FuncOp func, const PlanKind &kind) {
  OpBuilder builder(func.front().getTerminator());
  auto plan = *func.getOps<mla::PlanOp>().begin();
  mla::emitSharedPlan(builder, plan, kind.rowBlocks, kind.pairs,
                      func.getArgument(5),
                      {func.getArgument(7), func.getArgument(8),
                       func.getArgument(11), func.getArgument(12)});
  // And what each of those that merge finds.
  auto splits = mla_gpu::PlanSplitsOp::create(builder, plan.getLoc(), plan,
                                              kind.rowBlocks, kind.pairs,
                                              func.getArgument(9));
  mla::IndexMath ix{builder, plan.getLoc()};
  ix.store(splits.getCount(), func.getArgument(10),
           {ix.constant(0), ix.constant(0)});
}

/// Puts what a GPU's CTA has in shared memory on the stack, and lowers scans.
static void lowerToHost(func::FuncOp func) {
  func.walk([](memref::AllocaOp alloca) {
    auto type = cast<MemRefType>(alloca.getType());
    alloca.getResult().setType(
        MemRefType::get(type.getShape(), type.getElementType()));
  });
  SmallVector<mla_gpu::ScanOp> scans(func.getOps<mla_gpu::ScanOp>());
  for (mla_gpu::ScanOp scan : scans)
    lowerScan(scan);
}

static void addLowerings(PassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

/// A descriptor as the C interface takes it.
template <int rank> struct MemRef {
  int32_t *allocated, *aligned;
  int64_t offset = 0, sizes[rank], strides[rank];
};

MemRef<1> describe(std::vector<int32_t> &data) {
  return {data.data(), data.data(), 0, {int64_t(data.size())}, {1}};
}

/// Rows of i32 between guards.
class Guarded {
public:
  Guarded(int64_t rows, int64_t columns)
      : rows(rows), columns(columns),
        data((rows + 2 * kGuard) * columns, kUntouched) {}

  MemRef<2> describe() {
    int32_t *begin = data.data() + kGuard * columns;
    return {begin, begin, 0, {rows, columns}, {columns, 1}};
  }
  bool overrun() const {
    auto touched = [](int32_t x) { return x != kUntouched; };
    int64_t guard = kGuard * columns;
    return std::any_of(data.begin(), data.begin() + guard, touched) ||
           std::any_of(data.end() - guard, data.end(), touched);
  }
  template <size_t n> std::array<int32_t, n> row(int64_t i) const {
    std::array<int32_t, n> row;
    std::copy_n(data.begin() + (kGuard + i) * columns, n, row.begin());
    return row;
  }

  static constexpr int32_t kUntouched = 0x5a5a5a5a;

private:
  static constexpr int64_t kGuard = 64;
  int64_t rows, columns;
  std::vector<int32_t> data;
};

using PlanFunction = void (*)(MemRef<1> *, MemRef<1> *, int64_t, int32_t,
                              int32_t, int64_t, int64_t, MemRef<2> *,
                              MemRef<2> *, MemRef<2> *, MemRef<2> *,
                              MemRef<2> *, MemRef<2> *);

} // namespace

struct PlanOnHost::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  PlanFunction function;
};

PlanOnHost::PlanOnHost(std::unique_ptr<State> state)
    : state(std::move(state)) {}
PlanOnHost::PlanOnHost(PlanOnHost &&) = default;
PlanOnHost::~PlanOnHost() = default;

llvm::Expected<PlanOnHost> PlanOnHost::compile(const PlanKind &kind) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  DialectRegistry registry;
  registry.insert<mla::MLADialect, mla_gpu::MLAGPUDialect, func::FuncDialect,
                  arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect,
                  math::MathDialect, LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(functionText(kind), &context);
  if (!module)
    return createStringError("cannot parse " + functionText(kind));
  func::FuncOp func = *module->getOps<func::FuncOp>().begin();
  emitPlan(func, kind);
  PassManager expand(&context), pm(&context);
  expand.addNestedPass<func::FuncOp>(mla::createExpandPlan());
  addLowerings(pm);
  if (failed(verify(*module)) || failed(expand.run(*module)))
    return createStringError("cannot expand " + functionText(kind));
  lowerToHost(func);
  if (failed(pm.run(*module)))
    return createStringError("cannot lower " + functionText(kind));

  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto llvmModule = translateModuleToLLVMIR(*module, *llvmContext);
  auto state = std::make_unique<State>();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  state->jit = std::move(*jit);
  llvmModule->setDataLayout(state->jit->getDataLayout());
  if (auto error = state->jit->addIRModule(
          {std::move(llvmModule), std::move(llvmContext)}))
    return error;
  auto symbol = state->jit->lookup("_mlir_ciface_plan");
  if (!symbol)
    return symbol.takeError();
  state->function = symbol->toPtr<PlanFunction>();
  return PlanOnHost(std::move(state));
}

PlanOutput PlanOnHost::run(const PlanInput &input, int64_t pieces) const {
  std::vector<int32_t> lengths = input.lengths, offsets = {0};
  for (int32_t queries : input.queries)
    offsets.push_back(offsets.back() + queries);
  MemRef<1> lengthsRef = describe(lengths), offsetsRef = describe(offsets);
  Guarded work(pieces, 8), ranges(input.workers, 2), splits(pieces, 8),
      count(1, 1), listed(pieces, 8), listedCount(1, 1);
  MemRef<2> workRef = work.describe(), rangesRef = ranges.describe(),
            splitsRef = splits.describe(), countRef = count.describe(),
            listedRef = listed.describe(),
            listedCountRef = listedCount.describe();
  int64_t queries = input.queries.empty() ? 1 : input.queries.front();
  for (int worker = 0; worker < input.workers; ++worker)
    state->function(&lengthsRef, &offsetsRef, queries, input.splits,
                    input.window, worker, input.workers, &workRef, &rangesRef,
                    &splitsRef, &countRef, &listedRef, &listedCountRef);

  PlanOutput output;
  output.overrun = work.overrun() || ranges.overrun() || splits.overrun() ||
                   count.overrun() || listed.overrun() || listedCount.overrun();
  for (int worker = 0; worker < input.workers; ++worker)
    output.ranges.push_back(ranges.row<2>(worker));
  for (int64_t i = 0; i < pieces; ++i)
    output.work.push_back(work.row<8>(i));
  int32_t numSplits = count.row<1>(0)[0];
  output.listsAlike = listedCount.row<1>(0)[0] == numSplits;
  for (int64_t i = 0; i < std::min<int64_t>(numSplits, pieces); ++i) {
    output.splits.push_back(splits.row<8>(i));
    output.listsAlike &= listed.row<8>(i) == splits.row<8>(i);
  }
  return output;
}

} // namespace mla_test
