//===- Trace.cpp ----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// An interpreter of counts and slots. Integers are computed; what is not known
// (a load, an argument) is chosen when control flow or a slot number needs it,
// and is the same wherever the same place is read.
//
//===----------------------------------------------------------------------===//

#include "Counts.h"
#include "Protocol.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mla_gpu;

unsigned Choices::choose(unsigned count) {
  if (used == taken.size())
    taken.push_back({0, count});
  return taken[used++].first;
}

bool Choices::next() {
  used = 0;
  while (!taken.empty()) {
    auto &[choice, count] = taken.back();
    if (++choice < count)
      return true;
    taken.pop_back();
  }
  return false;
}

/// Trips that loops make where their count is not known and they hold no verbs,
/// or hold other loops that do.
static constexpr int64_t kOuterTrips = 2;
/// Steps of a run after which something must be wrong.
static constexpr size_t kMostSteps = 1 << 20;

namespace {
/// A tile: where it is, and by which hold, if it is a pipeline's.
struct TileValue {
  Place place;
  std::optional<Hold> hold;
};

/// What a role holds of a pipeline, and an MMA of it that may still read.
struct Held {
  int64_t next = 0;
  llvm::MapVector<int64_t, Operation *> open;
};

struct Mma {
  int64_t number;
  Operation *op;
  SmallVector<TileValue> tiles;
};
} // namespace

struct Tracer::Impl {
  Impl(func::FuncOp func, int64_t mostTrips, Choices &choices,
       SmallVector<Trace> &traces, SmallVector<Assumption> &assumptions)
      : func(func), mostTrips(mostTrips), traces(traces),
        counts(choices, assumptions, mostTrips), assumptions(assumptions) {}

  LogicalResult runBlock(Block &block);
  LogicalResult runOp(Operation &op);
  LogicalResult runFor(scf::ForOp loop);
  LogicalResult runIf(scf::IfOp branch);
  /// A branch without verbs: which way it goes matters where its values do.
  LogicalResult runSelect(scf::IfOp branch);
  LogicalResult runCall(func::CallOp call);
  LogicalResult runVerb(Operation &op, Value pipeline, Value number);
  LogicalResult access(Operation &op, Value tile, bool writes,
                       std::optional<Writer> writer = {}, int64_t mma = 0);
  LogicalResult runMma(MmaOp op);
  LogicalResult finish();

  InFlightDiagnostic error(Operation &op, StringRef constraint) {
    InFlightDiagnostic diag = op.emitOpError("(")
                              << constraint << ") of role '" << role << "' ";
    return diag;
  }
  LogicalResult noted(InFlightDiagnostic diag) {
    addNotes(diag, assumptions);
    return diag;
  }
  bool isRelevant(Region &region);
  void copy(Value to, Value from);
  Held &held(Hold hold) {
    return holds[{hold.pipeline.getOperation(), int(hold.writes)}];
  }

  func::FuncOp func;
  int64_t mostTrips;
  SmallVector<Trace> &traces;
  Counts counts;
  SmallVector<Assumption> &assumptions;

  // Of the role that runs.
  StringRef role;
  SmallVector<Step> *steps = nullptr;
  llvm::DenseMap<Value, TileValue> tiles;
  llvm::DenseMap<Value, Value> pipelines;
  llvm::DenseMap<Value, int64_t> inflight;
  llvm::MapVector<std::pair<Operation *, int>, Held> holds;
  SmallVector<Mma> mmas;
  int64_t mmaCount = 0;
  unsigned depth = 0;
  llvm::DenseMap<Region *, bool> relevant;
};

Tracer::Tracer(func::FuncOp func, int64_t mostTrips, Choices &choices)
    : impl(std::make_unique<Impl>(func, mostTrips, choices, traces,
                                  assumptions)) {}
Tracer::~Tracer() = default;

LogicalResult Tracer::run(WarpSpecializeOp roles) {
  // What comes before the roles: counts, and tiles of single roles.
  for (Operation &op : *roles->getBlock()) {
    if (&op == roles.getOperation())
      break;
    if (failed(impl->runOp(op)))
      return failure();
  }
  for (unsigned i = 0; i < roles.getNumRoles(); ++i) {
    traces.push_back({roles.getName(i), {}});
    impl->role = roles.getName(i);
    impl->steps = &traces.back().steps;
    impl->holds.clear();
    impl->mmas.clear();
    impl->mmaCount = 0;
    Block &body = roles.getBody(i).front();
    for (auto [argument, value] :
         llvm::zip(body.getArguments(), roles.getRoleArgs(i)))
      impl->copy(argument, value);
    if (failed(impl->runBlock(body)) || failed(impl->finish()))
      return failure();
  }
  return success();
}

static func::FuncOp findCallee(func::CallOp call) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
}

/// Is there anything in a region that the protocol depends on?
bool Tracer::Impl::isRelevant(Region &region) {
  auto [it, isNew] = relevant.try_emplace(&region, false);
  if (!isNew)
    return it->second;
  bool some = region
                  .walk([&](Operation *op) {
                    auto call = dyn_cast<func::CallOp>(op);
                    func::FuncOp callee = call ? findCallee(call) : nullptr;
                    if (callee && isRelevant(callee.getBody()))
                      return WalkResult::interrupt();
                    return isa<AcquireOp, CommitOp, WaitOp, ReleaseOp,
                               TMALoadOp, GatherOp, LoadSharedOp, StoreSharedOp,
                               ClearRowsOp, ExchangeOp, MmaOp, MmaWaitOp>(op)
                               ? WalkResult::interrupt()
                               : WalkResult::advance();
                  })
                  .wasInterrupted();
  return relevant[&region] = some;
}

void Tracer::Impl::copy(Value to, Value from) {
  if (isa<PipelineType>(to.getType())) {
    auto it = pipelines.find(from);
    pipelines[to] = it == pipelines.end() ? from : it->second;
  } else if (isa<InflightType>(to.getType())) {
    inflight[to] = inflight.lookup(from);
  } else if (isa<TileType>(to.getType())) {
    tiles[to] = tiles.lookup(from);
  } else if (to.getType().isIntOrIndex()) {
    counts.set(to, counts.get(from));
  }
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult Tracer::Impl::runBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(runOp(op)))
      return failure();
  return success();
}

LogicalResult Tracer::Impl::runFor(scf::ForOp loop) {
  bool hasCounts = llvm::any_of(loop.getResultTypes(),
                                [](Type type) { return type.isIntOrIndex(); });
  bool verbs = isRelevant(loop.getRegion());
  if (!verbs && !hasCounts)
    return success();
  bool outer = !verbs;
  loop.getBody()->walk(
      [&](scf::ForOp inner) { outer |= isRelevant(inner.getRegion()); });
  std::optional<int64_t> step = counts.resolve(counts.get(loop.getStep()));
  if (!step || *step <= 0)
    return noted(error(*loop, "protocol_c1") << "requires a known step");
  int64_t begin = counts.demand(counts.get(loop.getLowerBound()), {0});
  SmallVector<int64_t> ends;
  for (int64_t n = 0; n <= (outer ? kOuterTrips : mostTrips); ++n)
    ends.push_back(begin + n * *step);
  int64_t end = counts.demand(counts.get(loop.getUpperBound()), ends);

  for (auto [argument, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    copy(argument, init);
  Operation *yield = loop.getBody()->getTerminator();
  for (int64_t i = begin; i < end; i += *step) {
    counts.set(loop.getInductionVar(), counts.known(i));
    if (failed(runBlock(*loop.getBody())))
      return failure();
    if (steps && steps->size() > kMostSteps)
      return noted(error(*loop, "protocol_c1") << "requires fewer steps");
    // Values may be swapped round: read all before any is written.
    SmallVector<Value> values(yield->getOperands());
    SmallVector<Count *> next;
    for (Value value : values)
      next.push_back(value.getType().isIntOrIndex() ? counts.get(value)
                                                    : nullptr);
    for (auto [argument, value, count] :
         llvm::zip(loop.getRegionIterArgs(), values, next)) {
      if (count)
        counts.set(argument, count);
      else
        copy(argument, value);
    }
  }
  for (auto [result, argument] :
       llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
    copy(result, argument);
  return success();
}

LogicalResult Tracer::Impl::runIf(scf::IfOp branch) {
  bool hasCounts = llvm::any_of(branch.getResultTypes(),
                                [](Type type) { return type.isIntOrIndex(); });
  if (!isRelevant(branch.getThenRegion()) &&
      !isRelevant(branch.getElseRegion()))
    return hasCounts ? runSelect(branch) : success();
  bool taken = counts.demandCondition(counts.get(branch.getCondition()));
  Region &region = taken ? branch.getThenRegion() : branch.getElseRegion();
  if (region.empty())
    return success();
  if (failed(runBlock(region.front())))
    return failure();
  for (auto [result, value] : llvm::zip(
           branch.getResults(), region.front().getTerminator()->getOperands()))
    copy(result, value);
  return success();
}

LogicalResult Tracer::Impl::runSelect(scf::IfOp branch) {
  for (Region *region : branch.getRegions())
    if (failed(runBlock(region->front())))
      return failure();
  for (auto [i, yes, no] : llvm::enumerate(branch.thenYield()->getOperands(),
                                           branch.elseYield()->getOperands()))
    if (yes.getType().isIntOrIndex())
      counts.select(*branch, i, counts.get(branch.getCondition()),
                    counts.get(yes), counts.get(no));
  return success();
}

LogicalResult Tracer::Impl::runCall(func::CallOp call) {
  func::FuncOp callee = findCallee(call);
  if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock() ||
      depth > 8) {
    counts.setUnknown(*call);
    return success();
  }
  Block &body = callee.getBody().front();
  for (auto [argument, value] :
       llvm::zip(body.getArguments(), call.getOperands()))
    copy(argument, value);
  // Memory is known by the caller's name of it.
  for (auto [argument, value] :
       llvm::zip(body.getArguments(), call.getOperands()))
    if (!argument.getType().isIntOrIndex())
      counts.alias(argument, value);
  ++depth;
  if (failed(runBlock(body)))
    return failure();
  --depth;
  for (auto [result, value] :
       llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
    copy(result, value);
  return success();
}

LogicalResult Tracer::Impl::runOp(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp loop) { return runFor(loop); })
      .Case([&](scf::IfOp branch) { return runIf(branch); })
      .Case([&](func::CallOp call) { return runCall(call); })
      .Case<AcquireOp, CommitOp, WaitOp, ReleaseOp>([&](auto verb) {
        return runVerb(op, verb.getPipeline(), verb.getNumber());
      })
      .Case([&](AllocOp alloc) {
        if (auto tile = dyn_cast<TileType>(alloc.getType()))
          tiles[alloc] = {{&op, 0, 0, tile.isMatrix() ? tile.getColumns() : 1},
                          {}};
        return success();
      })
      .Case([&](ViewOp view) {
        TileValue tile = tiles.lookup(view.getTile());
        tile.place.end = tile.place.begin + int64_t(view.getEnd());
        tile.place.begin += int64_t(view.getBegin());
        tiles[view] = tile;
        return success();
      })
      .Case([&](TMALoadOp load) {
        return access(op, load.getTile(), /*writes=*/true, Writer::TMA);
      })
      .Case([&](GatherOp load) {
        return access(op, load.getTile(), /*writes=*/true, Writer::CpAsync);
      })
      .Case([&](StoreSharedOp store) {
        return access(op, store.getTile(), /*writes=*/true, Writer::Threads);
      })
      .Case([&](ClearRowsOp clear) {
        return access(op, clear.getTile(), /*writes=*/true);
      })
      // The other CTA writes, but within this one's hold.
      .Case([&](ExchangeOp exchange) {
        counts.compute(op);
        return access(op, exchange.getTile(), /*writes=*/true);
      })
      .Case([&](LoadSharedOp load) {
        return access(op, load.getTile(), /*writes=*/false);
      })
      .Case([&](MmaOp mma) { return runMma(mma); })
      .Case([&](MmaWaitOp wait) {
        int64_t last = inflight.lookup(wait.getValue());
        if (!last)
          last = mmaCount;
        llvm::erase_if(mmas, [&](Mma &mma) { return mma.number <= last; });
        Step step(Step::Drain, &op);
        step.mma = last;
        steps->push_back(step);
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        for (Region &region : other->getRegions())
          if (isRelevant(region))
            return noted(error(op, "protocol_c1")
                         << "cannot be followed: requires scf.for and scf.if "
                            "around pipeline ops");
        counts.compute(op);
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

LogicalResult Tracer::Impl::runVerb(Operation &op, Value value, Value count) {
  auto it = pipelines.find(value);
  PipelineOp pipeline =
      getDeclaration(it == pipelines.end() ? value : it->second);
  bool writes = isa<AcquireOp, CommitOp>(op),
       opens = isa<AcquireOp, WaitOp>(op);
  int64_t stages = pipeline.getType().getStages();
  if (writes ? role != pipeline.getFrom() : !pipeline.isReader(role))
    return noted(error(op, "protocol_c2")
                 << "is not for this role, which does not "
                 << (writes ? "write" : "read") << " the pipeline");
  Held &mine = held({pipeline, 0, writes});
  int64_t number = counts.demand(counts.get(count), {mine.next});
  Step step(isa<AcquireOp>(op)  ? Step::Acquire
            : isa<CommitOp>(op) ? Step::Commit
            : isa<WaitOp>(op)   ? Step::Wait
                                : Step::Release,
            &op);
  step.pipeline = pipeline;
  step.number = number;
  if (opens) {
    if (number != mine.next)
      return noted(error(op, "protocol_c2")
                   << "requires slots in order, " << mine.next
                   << " next, but got " << number);
    if (int64_t(mine.open.size()) == stages) {
      InFlightDiagnostic diag = error(op, "protocol_c3")
                                << "requires more than the " << stages
                                << " slots that there are, for slot " << number;
      diag.attachNote(mine.open.front().second->getLoc())
          << "slot " << mine.open.front().first << " is held from here on";
      return noted(std::move(diag));
    }
    ++mine.next;
    mine.open[number] = &op;
    for (auto [i, tile] : llvm::enumerate(op.getResults())) {
      auto type = cast<TileType>(tile.getType());
      int64_t begin = pipeline.getBegins()[i];
      tiles[tile] = {{pipeline.getStorages()[i].getDefiningOp(),
                      number % stages, begin,
                      type.isMatrix() ? begin + type.getColumns() : 1},
                     Hold{pipeline, number, writes}};
    }
  } else {
    auto hold = mine.open.find(number);
    if (hold == mine.open.end())
      return noted(error(op, "protocol_c2")
                   << "requires a slot that it holds, but got " << number);
    for (Mma &mma : mmas)
      for (TileValue &tile : mma.tiles)
        if (!writes && tile.hold && tile.hold->pipeline == pipeline &&
            tile.hold->number == number && !tile.hold->writes) {
          InFlightDiagnostic diag = error(op, "protocol_c4")
                                    << "lets slot " << number
                                    << " go while an MMA reads it";
          diag.attachNote(mma.op->getLoc()) << "not waited for";
          return noted(std::move(diag));
        }
    mine.open.erase(hold);
  }
  steps->push_back(step);
  return success();
}

LogicalResult Tracer::Impl::access(Operation &op, Value value, bool writes,
                                   std::optional<Writer> writer, int64_t mma) {
  auto it = tiles.find(value);
  if (it == tiles.end() || !it->second.place.storage)
    return noted(error(op, "protocol_c1")
                 << "requires a tile of the function's storage");
  TileValue tile = it->second;
  if (tile.hold) {
    Held &mine = held(*tile.hold);
    if (!mine.open.contains(tile.hold->number))
      return noted(error(op, "protocol_c4")
                   << (writes ? "writes" : "reads") << " slot "
                   << tile.hold->number << " after it let it go");
    if (writer &&
        (!tile.hold->writes || tile.hold->pipeline.getWriter() != *writer)) {
      InFlightDiagnostic diag =
          error(op, "protocol_c4")
          << "requires a slot that it acquired, of a pipeline with writer("
          << stringifyWriter(*writer) << ")";
      diag.attachNote(tile.hold->pipeline.getLoc()) << "of this pipeline";
      return noted(std::move(diag));
    }
  }
  if (writes)
    for (Mma &other : mmas)
      for (TileValue &read : other.tiles)
        if (read.place.overlaps(tile.place)) {
          InFlightDiagnostic diag = error(op, "protocol_c4")
                                    << "writes what an MMA reads";
          diag.attachNote(other.op->getLoc()) << "not waited for";
          return noted(std::move(diag));
        }
  Step step(writes ? Step::Write : Step::Read, &op);
  step.place = tile.place;
  step.hold = tile.hold;
  step.mma = mma;
  steps->push_back(step);
  return success();
}

LogicalResult Tracer::Impl::runMma(MmaOp op) {
  Mma mma{++mmaCount, op, {}};
  inflight[op] = mma.number;
  for (Value operand : {op.getLhs(), Value(op.getRhs())}) {
    if (!isa<TileType>(operand.getType()))
      continue;
    if (failed(access(*op, operand, /*writes=*/false, {}, mma.number)))
      return failure();
    mma.tiles.push_back(tiles.lookup(operand));
  }
  mmas.push_back(mma);
  return success();
}

LogicalResult Tracer::Impl::finish() {
  for (auto &[key, mine] : holds)
    for (auto [number, op] : mine.open)
      return noted(error(*op, "protocol_c2")
                   << "requires to " << (key.second ? "commit" : "release")
                   << " slot " << number << " before the role ends");
  if (!mmas.empty())
    return noted(error(*mmas.front().op, "protocol_c4")
                 << "is not waited for before the role ends");
  return success();
}
