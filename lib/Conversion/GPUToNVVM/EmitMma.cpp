//===- EmitMma.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// wgmma. What is assumed of the layout in shared memory, for elements of two
// bytes and a swizzle of S bytes (S / 2 columns):
//   * a tile is column tiles of rows x S bytes, one behind the other; 8 rows of
//     one, 8 S bytes, are the pattern that the swizzle repeats in;
//   * K-major (columns are K): 8-row groups are 8 S bytes apart (the stride of
//     the descriptor); 16 columns are 32 bytes within a row of S bytes, and the
//     swizzle applies to the sum, as it does to addresses;
//   * MN-major (rows are K): S / 2 columns are one pattern wide, the next ones
//     are rows x S bytes on (the leading offset); 8 rows of K are 8 S bytes on
//     (the stride), so a step of K is 16 S bytes.
// Offsets are in units of 16 bytes in the descriptor: address in bits 0-13,
// leading offset 16-29, stride 32-45, swizzle 62-63 (1, 2, 3: 128, 64, 32).
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"

using namespace mlir;
using namespace mlir::mla_gpu;

static constexpr int64_t kInstructionM = 64, kInstructionK = 16;
/// Trips from which on steps of K are a loop. Each instruction makes all of its
/// accumulators anew to the assembler, which is most of what it takes.
static constexpr int64_t kLeastTrips = 4;
/// Widest instructions that do so: the next of wider ones would come late (with
/// 256 columns it costs 1.3 to 2 % of a launch).
static constexpr int64_t kWidestLooped = 64;
/// Most groups that a wait may leave in flight.
static constexpr int64_t kMostGroups = 7;

namespace {

/// An operand in shared memory, as the instructions of one op see it.
class SharedOperand {
public:
  /// `kMajor`: the columns of the tile are K, else its rows are.
  SharedOperand(const SharedTile &tile, bool kMajor)
      : tile(tile), kMajor(kMajor), swizzle(tile.type.getSwizzle()) {}

  /// Whether descriptors can say where blocks of `width` along M or N begin.
  LogicalResult check(Operation *op, int64_t width) const {
    int64_t columns = tile.type.getSwizzleColumns();
    if (!swizzle)
      return op->emitOpError("requires tiles with a swizzle, but got ")
             << tile.type;
    if (kMajor ? tile.rows % 8 != 0 || tile.beginColumn % kInstructionK != 0
               : tile.beginColumn % columns != 0 || width % columns != 0)
      return op->emitOpError("requires whole ")
             << (kMajor ? "groups of 8 rows" : "swizzles along N")
             << " of shared memory, but got " << tile.type;
    return success();
  }

  /// The low half of the descriptor of the tile's storage; i32.
  Value lowHalf(NVVMEmitter &e) const {
    int64_t leading = kMajor ? 1 : tile.rows * swizzle / 16;
    Value address = e.shr(e.andi(tile.address, 0x3ffff), 4);
    return arith::OrIOp::create(e.b, e.loc, address, e.i32(leading << 16));
  }
  uint32_t highHalf() const {
    uint32_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
    return mode << 30 | uint32_t(8 * swizzle / 16);
  }

  /// What is added to the low half for elements from `mn` and `k` on.
  int64_t offset(int64_t mn, int64_t k) const {
    int64_t row = kMajor ? mn : k;
    int64_t byte = 2 * (tile.beginColumn + (kMajor ? k : mn));
    return (byte / swizzle * tile.rows * swizzle + row * swizzle +
            byte % swizzle) /
           16;
  }

private:
  const SharedTile &tile;
  bool kMajor;
  int64_t swizzle;
};

/// The text of one op, and its operands.
class MmaText {
public:
  MmaText(NVVMEmitter &e, MmaOp op);
  LogicalResult emit();
  /// Groups that it commits.
  int64_t numGroups() const;

private:
  void addInstruction(int64_t m, int64_t n, int64_t k);
  /// Sets the descriptor `name` to that of an operand, `offset` on.
  void addDescriptor(StringRef name, size_t input, int64_t offset);
  /// The instructions of the first columns of K.
  void addSteps(int64_t columns);
  /// Columns of K that a loop does at a time; 0: there is none.
  int64_t getLoopDepth() const;
  void addLoop(int64_t loopDepth);
  std::string list(size_t first, size_t count) const;
  bool accumulates() { return bool(op.getAcc()); }

  NVVMEmitter &e;
  MmaOp op;
  RankedTensorType type;
  bool rowsAsM;
  int64_t instructionN, mSize, nSize, depth;
  std::optional<SharedOperand> a; ///< else in registers
  SharedOperand b;
  size_t numOutputs;
  size_t aInput = 0, bInput = 0; ///< numbers of their first operands
  bool isLooped = false;         ///< descriptors begin at low_a and low_b
  std::string text;
};

} // namespace

static TileType tileType(Value value) {
  return dyn_cast<TileType>(value.getType());
}

MmaText::MmaText(NVVMEmitter &e, MmaOp op)
    : e(e), op(op), type(op.getResult().getType().getValue()),
      rowsAsM(cast<MmaLayoutAttr>(type.getEncoding()).isRowsAsM()),
      b(rowsAsM ? SharedOperand(e.tile(op.getRhs()), op.getTransposed())
                : SharedOperand(e.tile(op.getLhs()), /*kMajor=*/true)) {
  // Where keys are M, the hardware computes rhs^T lhs^T.
  if (!rowsAsM)
    a.emplace(e.tile(op.getRhs()), op.getTransposed());
  else if (tileType(op.getLhs()))
    a.emplace(e.tile(op.getLhs()), /*kMajor=*/true);
  instructionN = cast<MmaLayoutAttr>(type.getEncoding()).getInstr()[1];
  mSize = type.getDimSize(rowsAsM ? 0 : 1);
  nSize = type.getDimSize(rowsAsM ? 1 : 0);
  TileType rhs = op.getRhs().getType();
  depth = op.getTransposed() ? rhs.getColumns() : rhs.getRows();
  numOutputs = getFragmentTypes(type).size();
}

/// "{$first, ...}".
std::string MmaText::list(size_t first, size_t count) const {
  std::string result = "{";
  for (size_t i = 0; i < count; ++i)
    result += (i ? ", $" : "$") + std::to_string(first + i);
  return result + "}";
}

void MmaText::addDescriptor(StringRef name, size_t input, int64_t offset) {
  std::string low =
      isLooped ? ("low_" + name).str() : "$" + std::to_string(input);
  if (offset) {
    text += "add.u32 low, " + low + ", " + std::to_string(offset) + ";\n";
    low = "low";
  }
  text += ("mov.b64 " + name + ", {" + low + ", " + name + "_high};\n").str();
}

void MmaText::addInstruction(int64_t m, int64_t n, int64_t k) {
  bool isBF16 = op.getRhs().getType().getElementType().isBF16();
  std::string first = "a";
  if (a) {
    addDescriptor("a", aInput, a->offset(m, k));
  } else {
    // Two 8-column groups of a 64-row tile: two registers each.
    int64_t group = m / kInstructionM * (depth / 8) + k / 8;
    first = list(aInput + group * 2, 4);
  }
  addDescriptor("b", bInput, b.offset(n, k));
  int64_t registers = instructionN / 2;
  int64_t accumulator =
      FragmentLayout(type).getElement(m / kInstructionM, n / 8, 0);
  bool transposeA = !rowsAsM && !op.getTransposed();
  bool transposeB = rowsAsM && !op.getTransposed();
  StringRef element = isBF16 ? "bf16" : "f16";
  text +=
      ("wgmma.mma_async.sync.aligned.m64n" + Twine(instructionN) + "k16.f32." +
       element + "." + element + " " + list(accumulator, registers) + ", " +
       first + ", b, " + (k || accumulates() ? "adds" : "begins") + ", 1, 1" +
       (a ? (transposeA ? ", 1" : ", 0") : "") + (transposeB ? ", 1" : ", 0") +
       ";\n")
          .str();
}

void MmaText::addSteps(int64_t columns) {
  // Steps of K outside: neighbouring instructions add to different registers.
  for (int64_t k = 0; k < columns; k += kInstructionK)
    for (int64_t m = 0; m < mSize; m += kInstructionM)
      for (int64_t n = 0; n < nSize; n += instructionN)
        addInstruction(m, n, k);
}

int64_t MmaText::getLoopDepth() const {
  if (!a || instructionN > kWidestLooped)
    return 0;
  // Whether all steps are as far from those before as the first ones are.
  auto repeats = [&](const SharedOperand &operand, int64_t columns) {
    for (int64_t k = columns; k < depth; k += kInstructionK)
      if (operand.offset(0, k) - operand.offset(0, k - columns) !=
          operand.offset(0, columns) - operand.offset(0, 0))
        return false;
    return true;
  };
  for (int64_t columns = kInstructionK; columns * kLeastTrips <= depth;
       columns += kInstructionK)
    if (depth % columns == 0 && repeats(*a, columns) && repeats(b, columns))
      return columns;
  return 0;
}

int64_t MmaText::numGroups() const {
  int64_t loopDepth = getLoopDepth();
  return loopDepth ? depth / loopDepth : 1;
}

void MmaText::addLoop(int64_t loopDepth) {
  isLooped = true;
  // Each trip fences and commits: behind a loop without, the assembler puts an
  // MMA of its own that carries the commit.
  auto step = [&](const SharedOperand &operand) {
    return operand.offset(0, loopDepth) - operand.offset(0, 0);
  };
  text += ("mov.b32 low_a, $" + Twine(aInput) + ";\nmov.b32 low_b, $" +
           Twine(bInput) + ";\nadd.u32 end_a, low_a, " +
           Twine(step(*a) * (depth / loopDepth)) +
           ";\nsteps:\n.pragma \"nounroll\";\nwgmma.fence.sync.aligned;\n")
              .str();
  addSteps(loopDepth);
  text += ("wgmma.commit_group.sync.aligned;\nadd.u32 low_a, low_a, " +
           Twine(step(*a)) + ";\nadd.u32 low_b, low_b, " + Twine(step(b)) +
           ";\nsetp.eq.b32 begins, 0, 0;\nsetp.ne.b32 more, low_a, end_a;\n"
           "@more bra steps;\n")
              .str();
}

/// Whether the op adds to what an MMA before it in the block has in flight, and
/// reads no registers that were written since: the fence before that one will
/// do.
static bool continuesMma(MmaOp op) {
  auto before = op.getAcc() ? op.getAcc().getDefiningOp<MmaOp>() : MmaOp();
  if (!before || before->getBlock() != op->getBlock())
    return false;
  Operation *lhs = op.getLhs().getDefiningOp();
  return tileType(op.getLhs()) || (lhs && lhs->getBlock() != op->getBlock()) ||
         (lhs && lhs->isBeforeInBlock(before));
}

/// Whether the op is waited for at once, so that both are one text.
static bool endsAtOnce(MmaOp op) {
  auto wait = dyn_cast_or_null<MmaWaitOp>(op->getNextNode());
  return wait && wait.getValue() == op.getResult() && wait.getResult();
}

LogicalResult MmaText::emit() {
  if (failed(b.check(op, instructionN)) ||
      (a && failed(a->check(op, kInstructionM))))
    return failure();
  SmallVector<Value> inputs;
  SmallVector<std::string> constraints(numOutputs, "=f");
  auto addInput = [&](StringRef constraint, Value value) {
    constraints.push_back(constraint.str());
    inputs.push_back(value);
    return constraints.size() - 1;
  };
  if (accumulates())
    for (auto [i, value] : llvm::enumerate(e.registers(op.getAcc())))
      addInput(std::to_string(i), value);
  if (a) {
    aInput = addInput("r", a->lowHalf(e));
  } else {
    aInput = constraints.size();
    for (Value value : e.registers(op.getLhs()))
      addInput("r", value);
  }
  bInput = addInput("r", b.lowHalf(e));

  auto high = [&](StringRef name, const SharedOperand &operand) {
    text += ("mov.b32 " + name + "_high, " + Twine(operand.highHalf()) + ";\n")
                .str();
  };
  text =
      "{\n.reg .pred begins, adds, more;\n"
      ".reg .b32 low, low_a, low_b, end_a, a_high, b_high;\n"
      ".reg .b64 a, b;\nsetp.ne.b32 begins, 0, 0;\nsetp.eq.b32 adds, 0, 0;\n";
  if (a)
    high("a", *a);
  high("b", b);
  if (int64_t loopDepth = getLoopDepth()) {
    addLoop(loopDepth);
  } else {
    if (!continuesMma(op))
      text += "wgmma.fence.sync.aligned;\n";
    addSteps(depth);
    text += "wgmma.commit_group.sync.aligned;\n";
  }
  if (endsAtOnce(op))
    text += "wgmma.wait_group.sync.aligned 0;\n";
  text += "}";

  SmallVector<SharedTile> tiles;
  for (Value operand : {Value(op.getLhs()), Value(op.getRhs())})
    if (tileType(operand))
      tiles.push_back(e.tile(operand));
  e.beforeMmaReads(tiles);
  e.map(op.getResult(), e.ptx(text, llvm::join(constraints, ","),
                              getFragmentTypes(type), inputs));
  e.afterMmaReads(tiles);
  return success();
}

LogicalResult mla_gpu::emitMma(NVVMEmitter &e, MmaOp op) {
  return MmaText(e, op).emit();
}

/// How many groups the role has issued after the awaited one, or less: all of
/// them wait where control flow does not tell.
static int64_t groupsAfter(NVVMEmitter &e, MmaWaitOp op) {
  Operation *awaited = op.getValue().getDefiningOp<MmaOp>();
  if (!awaited || awaited->getBlock() != op->getBlock())
    return 0;
  int64_t groups = 0;
  for (Operation *next = awaited->getNextNode(); next != op;
       next = next->getNextNode()) {
    if (auto mma = dyn_cast<MmaOp>(next)) {
      groups += MmaText(e, mma).numGroups();
      continue;
    }
    auto walked = next->walk([](MmaOp) { return WalkResult::interrupt(); });
    if (walked.wasInterrupted())
      return 0;
  }
  return std::min(groups, kMostGroups);
}

LogicalResult mla_gpu::emitMmaWait(NVVMEmitter &e, MmaWaitOp op) {
  auto mma = op.getValue().getDefiningOp<MmaOp>();
  if (mma && mma->getNextNode() == op && endsAtOnce(mma)) {
    e.map(op.getResult(), llvm::to_vector(e.registers(op.getValue())));
    return success();
  }
  std::string text = "wgmma.wait_group.sync.aligned " +
                     std::to_string(groupsAfter(e, op)) + ";";
  if (!op.getResult()) {
    e.ptx(text, "", {}, {});
    return success();
  }
  // The values pass through, so that no use of them moves above.
  ArrayRef<Value> values = e.registers(op.getValue());
  SmallVector<std::string> constraints(values.size(), "=f");
  for (size_t i = 0; i < values.size(); ++i)
    constraints.push_back(std::to_string(i));
  e.map(op.getResult(), e.ptx(text, llvm::join(constraints, ","),
                              ValueRange(values).getTypes(), values));
  return success();
}
