//===- PipelineOps.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Storage, pipelines and roles.
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::mla_gpu;

Region *mla_gpu::getRoleBody(Operation *op) {
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion())
    if (isa<WarpSpecializeOp>(region->getParentOp()))
      return region;
  return nullptr;
}

/// Checks that an op is directly in a function.
static LogicalResult verifyTopLevel(Operation *op, StringRef constraint) {
  if (isa_and_nonnull<FunctionOpInterface>(op->getParentOp()))
    return success();
  return op->emitOpError("(")
         << constraint
         << ") requires to be outside of roles, loops and branches";
}

//===----------------------------------------------------------------------===//
// alloc, view
//===----------------------------------------------------------------------===//

LogicalResult AllocOp::verify() { return verifyTopLevel(*this, "alloc_c1"); }

LogicalResult ViewOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto tile = cast<TileType>(adaptor.getTile().getType());
  SmallVector<int64_t> shape(tile.getShape());
  shape.back() =
      std::max<int64_t>(1, adaptor.getEnd() - int64_t(adaptor.getBegin()));
  types.push_back(
      TileType::get(context, shape, tile.getElementType(), tile.getSwizzle()));
  return success();
}

LogicalResult ViewOp::verify() {
  TileType tile = getTile().getType();
  int64_t begin = getBegin(), end = getEnd();
  if (!tile.isMatrix() || begin < 0 || begin >= end || end > tile.getColumns())
    return emitOpError("(view_c1) requires a range of the tile's columns, but "
                       "got [")
           << begin << ":" << end << "] of " << tile;
  if (begin % 16 || end % 16)
    return emitOpError("(view_c2) requires multiples of 16, but got [")
           << begin << ":" << end << "]";
  return success();
}

//===----------------------------------------------------------------------===//
// pipeline
//===----------------------------------------------------------------------===//

/// The tile that a pipeline takes of a storage.
static TileType tileOf(SmemType storage, int64_t begin, int64_t end) {
  if (!storage.isMatrix())
    return storage.getTile(0, storage.getColumns());
  return storage.getTile(begin, std::max(end, begin + 1));
}

LogicalResult PipelineOp::inferReturnTypes(MLIRContext *context,
                                           std::optional<Location>,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  SmallVector<Type> tiles;
  int64_t stages = std::max<int64_t>(1, adaptor.getSlots().value_or(1));
  for (auto [i, storage] : llvm::enumerate(adaptor.getStorages())) {
    auto type = cast<SmemType>(storage.getType());
    stages = type.getStages();
    if (i < adaptor.getBegins().size() && i < adaptor.getEnds().size())
      tiles.push_back(
          tileOf(type, adaptor.getBegins()[i], adaptor.getEnds()[i]));
  }
  types.push_back(PipelineType::get(context, stages, tiles));
  return success();
}

PipelineOp PipelineOp::getEarlier() {
  return getAfter() ? getDeclaration(getAfter()) : PipelineOp();
}

bool PipelineOp::isReader(StringRef role) {
  return llvm::any_of(getTo().getAsValueRange<StringAttr>(),
                      [&](StringRef name) { return name == role; });
}

/// Checks that some storage of `op` has its range inside one of `earlier`.
static bool takesPlaceOf(PipelineOp op, PipelineOp earlier) {
  for (auto [i, mine] : llvm::enumerate(op.getStorages()))
    for (auto [j, theirs] : llvm::enumerate(earlier.getStorages()))
      if (mine == theirs && op.getBegins()[i] >= earlier.getBegins()[j] &&
          op.getEnds()[i] <= earlier.getEnds()[j])
        return true;
  return false;
}

LogicalResult PipelineOp::verify() {
  if (getStorages().empty() != getSlots().has_value())
    return emitOpError(
        "(pipeline_c1) requires 'slots' exactly where there is no storage");
  if (getSlots() && int64_t(*getSlots()) < 1)
    return emitOpError("(pipeline_c1) requires a positive number of slots, but "
                       "got ")
           << *getSlots();
  if (getBegins().size() != getStorages().size() ||
      getEnds().size() != getStorages().size())
    return emitOpError("(pipeline_c2) requires a range for each storage");
  int64_t stages = getType().getStages();
  for (auto [storage, begin, end] :
       llvm::zip(getStorages(), getBegins(), getEnds())) {
    auto type = cast<SmemType>(storage.getType());
    if (type.getStages() != stages)
      return emitOpError("(pipeline_c1) requires storages of ")
             << stages << " stages, but got " << type;
    if (!type.isMatrix() ? begin != 0 || end != 0
                         : begin < 0 || begin >= end || end > type.getColumns())
      return emitOpError("(pipeline_c2) requires a range of the columns that "
                         "there are, but got [")
             << begin << ":" << end << "] of " << type;
    int64_t step = std::max<int64_t>(16, TileType::get(getContext(), {1, 128},
                                                       type.getElementType(),
                                                       type.getSwizzle())
                                             .getSwizzleColumns());
    if (type.isMatrix() && (begin % step || end % step))
      return emitOpError("(pipeline_c2) requires multiples of ")
             << step << ", but got [" << begin << ":" << end << "] of " << type;
  }
  llvm::StringSet<> readers;
  for (StringRef name : getTo().getAsValueRange<StringAttr>())
    if (!readers.insert(name).second)
      return emitOpError("(pipeline_c3) requires different readers, but got '")
             << name << "' twice";
  if (readers.empty())
    return emitOpError("(pipeline_c3) requires a reader");
  if (getAfter()) {
    PipelineOp earlier = getEarlier();
    if (!earlier || earlier.getType().getStages() != stages ||
        !takesPlaceOf(*this, earlier))
      return emitOpError(
                 "(pipeline_c4) requires 'after' to name a pipeline of ")
             << stages << " stages whose place this one takes";
  }
  if (getStorages().empty() && getWriter() != Writer::Threads)
    return emitOpError("(pipeline_c5) requires writer(threads) without "
                       "storage, but got ")
           << stringifyWriter(getWriter());
  return verifyTopLevel(*this, "pipeline_c6");
}

//===----------------------------------------------------------------------===//
// acquire, commit, wait, release
//===----------------------------------------------------------------------===//

/// Checks that a verb is in a role that its pipeline has it for. Roles that
/// share a region may use different pipelines of the same name, or only some of
/// them use it: there must be one that may.
template <typename Op>
static LogicalResult verifyVerb(Op op, StringRef constraint, bool writes) {
  Region *body = getRoleBody(op);
  if (!body) {
    // A function that roles call: checked when it is inlined.
    auto func = op->template getParentOfType<FunctionOpInterface>();
    if (func && func.isPrivate())
      return success();
    return op.emitOpError("(") << constraint << ") requires to be in a role";
  }
  auto roles = cast<WarpSpecializeOp>(body->getParentOp());
  unsigned first = roles.getFirstRole(*body);
  unsigned count = roles.getSharing()[body->getRegionNumber()];
  auto argument = dyn_cast<BlockArgument>(op.getPipeline());
  bool perRole = argument && argument.getOwner() == &body->front();
  for (unsigned role = first; role < first + count; ++role) {
    OperandRange args = roles.getRoleArgs(role);
    // What is wrong with the arguments, the roles' op says.
    if (perRole && argument.getArgNumber() >= args.size())
      return success();
    PipelineOp pipeline = getDeclaration(perRole ? args[argument.getArgNumber()]
                                                 : op.getPipeline());
    if (!pipeline)
      return op.emitOpError("(")
             << constraint << ") requires an mla_gpu.pipeline of the function";
    StringRef name = roles.getName(role);
    if (writes ? name == pipeline.getFrom() : pipeline.isReader(name))
      return success();
    if (role + 1 == first + count)
      return (op.emitOpError("(")
              << constraint << ") requires to be in a role that "
              << (writes ? "writes" : "reads") << " the pipeline, but got '"
              << name << "'")
                 .attachNote(pipeline.getLoc())
             << "declared here";
  }
  return success();
}

LogicalResult AcquireOp::verify() {
  return verifyVerb(*this, "acquire_c1", /*writes=*/true);
}
LogicalResult CommitOp::verify() {
  return verifyVerb(*this, "commit_c1", /*writes=*/true);
}
LogicalResult WaitOp::verify() {
  return verifyVerb(*this, "wait_c1", /*writes=*/false);
}
LogicalResult ReleaseOp::verify() {
  return verifyVerb(*this, "release_c1", /*writes=*/false);
}

LogicalResult AcquireOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  llvm::append_range(
      types, cast<PipelineType>(adaptor.getPipeline().getType()).getTiles());
  return success();
}

LogicalResult WaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  llvm::append_range(
      types, cast<PipelineType>(adaptor.getPipeline().getType()).getTiles());
  return success();
}

//===----------------------------------------------------------------------===//
// warp_specialize, yield
//===----------------------------------------------------------------------===//

Region &WarpSpecializeOp::getBody(unsigned role) {
  for (auto [body, sharing] : llvm::zip(getBodies(), getSharing())) {
    if (role < sharing)
      return body;
    role -= sharing;
  }
  llvm_unreachable("role out of range");
}

unsigned WarpSpecializeOp::getFirstRole(Region &body) {
  unsigned first = 0;
  for (int64_t sharing : getSharing().take_front(body.getRegionNumber()))
    first += sharing;
  return first;
}

OperandRange WarpSpecializeOp::getRoleArgs(unsigned role) {
  unsigned begin = 0;
  for (unsigned i = 0; i < role; ++i)
    begin += getBody(i).getNumArguments();
  return getArgs().slice(begin, getBody(role).getNumArguments());
}

LogicalResult WarpSpecializeOp::verify() {
  size_t count = getNames().size(), shared = 0, taken = 0;
  for (auto [i, sharing] : llvm::enumerate(getSharing())) {
    shared += sharing;
    if (sharing >= 1 && i < getBodies().size())
      taken += sharing * getBodies()[i].getNumArguments();
  }
  if (count == 0 || shared != count || getWarps().size() != count ||
      getSharing().size() != getBodies().size() ||
      llvm::any_of(getSharing(), [](int64_t n) { return n < 1; }))
    return emitOpError("(warp_specialize_c1) requires a name and warps for "
                       "each of at least one role");
  if (taken != getArgs().size())
    return emitOpError("(warp_specialize_c7) requires ")
           << taken << " arguments for the regions, but got "
           << getArgs().size();
  llvm::StringSet<> names;
  int64_t all = 0;
  for (auto [i, warps] : llvm::enumerate(getWarps())) {
    if (getRoleArgs(i).getTypes() != getBody(i).getArgumentTypes())
      return emitOpError("(warp_specialize_c7) requires arguments of the types "
                         "that the region of '")
             << getName(i) << "' takes";
    if (!names.insert(getName(i)).second)
      return emitOpError("(warp_specialize_c1) requires roles of different "
                         "names, but got '")
             << getName(i) << "' twice";
    if (warps < 1 || warps > 16)
      return emitOpError("(warp_specialize_c1) requires 1 to 16 warps a role, "
                         "but got ")
             << warps << " for '" << getName(i) << "'";
    all += warps;
  }
  if (all > 32)
    return emitOpError("(warp_specialize_c1) requires at most 32 warps, but "
                       "got ")
           << all;
  if ((*this)->getParentOfType<WarpSpecializeOp>())
    return emitOpError("(warp_specialize_c6) requires to be in no other role");
  if (!getRegisters().empty() && getRegisters().size() != count)
    return emitOpError("(warp_specialize_c2) requires registers for all roles "
                       "or none, but got ")
           << getRegisters().size() << " for " << count;

  int64_t start = 0;
  for (auto [i, warps] : llvm::enumerate(getWarps())) {
    bool whole = start % kWarpgroupWarps == 0 && warps % kWarpgroupWarps == 0;
    if (!getRegisters().empty() && !whole)
      return emitOpError("(warp_specialize_c3) requires whole warpgroups for "
                         "registers, but got warps ")
             << start << " to " << start + warps - 1 << " for '" << getName(i)
             << "'";
    WalkResult result = getBody(i).walk([&](MmaOp mma) {
      if (whole)
        return WalkResult::advance();
      mma.emitOpError("(warp_specialize_c5) requires a role of whole "
                      "warpgroups, but got warps ")
          << start << " to " << start + warps - 1 << " for '" << getName(i)
          << "'";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
    start += warps;
  }

  // What every thread starts with, since the CTA is launched with one number.
  int64_t equal = std::min<int64_t>(256, 65536 / (all * kWarpThreads) / 8 * 8);
  int64_t sum = 0;
  for (auto [i, registers] : llvm::enumerate(getRegisters())) {
    if (registers < 24 || registers > 256 || registers % 8)
      return emitOpError("(warp_specialize_c3) requires a multiple of 8 from "
                         "24 to 256, but got ")
             << registers << " for '" << getName(i) << "'";
    sum += registers * getWarps()[i];
  }
  if (sum > equal * all)
    return emitOpError("(warp_specialize_c4) requires at most ")
           << equal * all * kWarpThreads << " registers (" << equal
           << " for each of " << all * kWarpThreads << " threads), but got "
           << sum * kWarpThreads;
  return success();
}

LogicalResult YieldOp::verify() {
  if (isa<WarpSpecializeOp>((*this)->getParentOp()) && getNumOperands())
    return emitOpError("(yield_c1) requires to yield nothing from a role, but "
                       "got ")
           << getNumOperands();
  return success();
}
