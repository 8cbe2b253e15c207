// What mla-gpu-verify-protocol accepts, how many choices of counts that takes, and which
// waits it finds to be implied.
//
// RUN: mla-opt %s --mla-gpu-verify-protocol --remarks-filter=mla_gpu -o /dev/null 2>&1 | FileCheck %s

// Both roles read the same count: 7 choices for 2 slots. Nothing is implied.
// CHECK: "from 'a': waited for by 'b'; release by 'b' waited for"
// CHECK: "7 choices of counts, up to 6 trips"
func.func @same_count(%counts: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  %x = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    %n = memref.load %counts[%c3] : memref<?xindex>
    scf.for %k = %c0 to %n step %c1 {
      mla_gpu.acquire %x[%k] : !mla_gpu.pipeline<2>
      mla_gpu.commit %x[%k] : !mla_gpu.pipeline<2>
    }
  }
  role "b" warps(4) {
    // The same element, by another way.
    %c4 = arith.addi %c3, %c1 : index
    %same = arith.subi %c4, %c1 : index
    %n = memref.load %counts[%same] : memref<?xindex>
    %last = arith.subi %n, %c1 : index
    scf.for %k = %c0 to %n step %c1 {
      %is_last = arith.cmpi eq, %k, %last : index
      scf.if %is_last {
        mla_gpu.wait %x[%k] : !mla_gpu.pipeline<2>
      } else {
        mla_gpu.wait %x[%k] : !mla_gpu.pipeline<2>
      }
      mla_gpu.release %x[%k] : !mla_gpu.pipeline<2>
    }
  }
  return
}

// Verbs of functions that roles call, also where nothing else is in a loop or branch.
// CHECK: "from 'a': waited for by 'b'; release by 'b' waited for"
// CHECK: "14 choices of counts, up to 6 trips"
func.func private @write(%pipeline: !mla_gpu.pipeline<2>, %slot: index) {
  mla_gpu.acquire %pipeline[%slot] : !mla_gpu.pipeline<2>
  mla_gpu.commit %pipeline[%slot] : !mla_gpu.pipeline<2>
  return
}
func.func private @read(%pipeline: !mla_gpu.pipeline<2>, %slot: index) {
  mla_gpu.wait %pipeline[%slot] : !mla_gpu.pipeline<2>
  mla_gpu.release %pipeline[%slot] : !mla_gpu.pipeline<2>
  return
}
func.func @calls(%n: index, %one_more: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    scf.for %k = %c0 to %n step %c1 {
      func.call @write(%x, %k) : (!mla_gpu.pipeline<2>, index) -> ()
    }
    scf.if %one_more {
      func.call @write(%x, %n) : (!mla_gpu.pipeline<2>, index) -> ()
    }
  }
  role "b" warps(4) {
    scf.for %k = %c0 to %n step %c1 {
      func.call @read(%x, %k) : (!mla_gpu.pipeline<2>, index) -> ()
    }
    scf.if %one_more {
      func.call @read(%x, %n) : (!mla_gpu.pipeline<2>, index) -> ()
    }
  }
  return
}

// Work items, 0 to 2, with 0 to 6 tiles each: 1 + 7 + 49 choices. Counts come from a function.
// CHECK: "57 choices of counts, up to 6 trips"
func.func private @tiles(%counts: memref<?xindex>, %i: index) -> index {
  %n = memref.load %counts[%i] : memref<?xindex>
  return %n : index
}
func.func @items(%counts: memref<?xindex>, %items: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    %done = scf.for %i = %c0 to %items step %c1 iter_args(%n = %c0) -> (index) {
      %tiles = func.call @tiles(%counts, %i) : (memref<?xindex>, index) -> index
      scf.for %k = %c0 to %tiles step %c1 {
        %slot = arith.addi %n, %k : index
        mla_gpu.acquire %x[%slot] : !mla_gpu.pipeline<2>
        mla_gpu.commit %x[%slot] : !mla_gpu.pipeline<2>
      }
      %next = arith.addi %n, %tiles : index
      scf.yield %next : index
    }
  }
  role "b" warps(4) {
    %done = scf.for %i = %c0 to %items step %c1 iter_args(%n = %c0) -> (index) {
      %tiles = memref.load %counts[%i] : memref<?xindex>
      %next = arith.addi %n, %tiles : index
      scf.for %slot = %n to %next step %c1 {
        mla_gpu.wait %x[%slot] : !mla_gpu.pipeline<2>
        mla_gpu.release %x[%slot] : !mla_gpu.pipeline<2>
      }
      scf.yield %next : index
    }
  }
  return
}

// At least one slot, so 0 and 1 tiles take as many. Whether there is a page is no choice: that
// branch has no verbs, and nothing that has depends on its value.
// CHECK: "7 choices of counts, up to 6 trips"
func.func @at_least_one(%counts: memref<?xindex>, %pages: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    %tiles = memref.load %counts[%c0] : memref<?xindex>
    %slots = arith.maxsi %tiles, %c1 : index
    scf.for %k = %c0 to %slots step %c1 {
      %some = memref.load %counts[%k] : memref<?xindex>
      %is_page = arith.cmpi slt, %k, %some : index
      %page = scf.if %is_page -> (index) {
        %there = memref.load %pages[%k] : memref<?xindex>
        scf.yield %there : index
      } else {
        scf.yield %c0 : index
      }
      mla_gpu.acquire %x[%k] : !mla_gpu.pipeline<2>
      mla_gpu.commit %x[%k] : !mla_gpu.pipeline<2>
    }
  }
  role "b" warps(4) {
    %tiles = memref.load %counts[%c0] : memref<?xindex>
    %none = arith.cmpi eq, %tiles, %c0 : index
    scf.if %none {
      mla_gpu.wait %x[%c0] : !mla_gpu.pipeline<2>
      mla_gpu.release %x[%c0] : !mla_gpu.pipeline<2>
    }
    scf.for %k = %c0 to %tiles step %c1 {
      mla_gpu.wait %x[%k] : !mla_gpu.pipeline<2>
      mla_gpu.release %x[%k] : !mla_gpu.pipeline<2>
    }
  }
  return
}

// The value of such a branch is a choice where it matters, the same in both roles: 2 trips, or 0 to 6.
// CHECK: "8 choices of counts, up to 6 trips"
func.func @branch(%c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  %ab:2 = scf.if %c -> (index, index) {
    scf.yield %c0, %c2 : index, index
  } else {
    scf.yield %c1, %n : index, index
  }
  mla_gpu.warp_specialize
  role "a" warps(4) {
    scf.for %k = %c0 to %ab#1 step %c1 {
      mla_gpu.acquire %x[%k] : !mla_gpu.pipeline<2>
      mla_gpu.commit %x[%k] : !mla_gpu.pipeline<2>
    }
  }
  role "b" warps(4) {
    scf.for %k = %c0 to %ab#1 step %c1 {
      mla_gpu.wait %x[%k] : !mla_gpu.pipeline<2>
      mla_gpu.release %x[%k] : !mla_gpu.pipeline<2>
    }
  }
  return
}

// A way back makes the first pipeline's own release needless.
// CHECK: "from 'a': waited for by 'b'; release by nobody waited for"
// CHECK: "from 'b': waited for by 'a'; release by nobody waited for"
func.func @there_and_back(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = mla_gpu.pipeline slots(1) writer(threads) from("a") to("b")
  %y = mla_gpu.pipeline slots(1) writer(threads) from("b") to("a")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    scf.for %k = %c0 to %n step %c1 {
      mla_gpu.acquire %x[%k] : !mla_gpu.pipeline<1>
      mla_gpu.commit %x[%k] : !mla_gpu.pipeline<1>
      mla_gpu.wait %y[%k] : !mla_gpu.pipeline<1>
      mla_gpu.release %y[%k] : !mla_gpu.pipeline<1>
    }
  }
  role "b" warps(4) {
    scf.for %k = %c0 to %n step %c1 {
      mla_gpu.wait %x[%k] : !mla_gpu.pipeline<1>
      mla_gpu.release %x[%k] : !mla_gpu.pipeline<1>
      mla_gpu.acquire %y[%k] : !mla_gpu.pipeline<1>
      mla_gpu.commit %y[%k] : !mla_gpu.pipeline<1>
    }
  }
  return
}

// A function without roles has nothing to check.
// CHECK: "5 choices of counts, up to 4 trips"
// CHECK-NOT: Remark=
func.func @no_roles() {
  return
}
