// Calls that synchronise stay where they are and as often as they are (E4 of the
// cases: an optimiser that moves a load over a wait, clones a barrier into two
// branches, merges two into one, or deletes a store that nobody reads).

// RUN: mla-translate %s --emit nvvm-ir | FileCheck %s --check-prefix=IR
// RUN: mla-translate %s | FileCheck %s

// REPORT: losses: 0
// SASS: sass UTMASTG: 1

llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

// IR-LABEL: define ptx_kernel void @load_after_wait
// IR: asm sideeffect "{{.*}}mbarrier.try_wait{{.*}}", "=r,r,r,~{memory}"{{.*}} #[[$CONVERGENT:[0-9]+]]

// The load behind the wait is not the one before it.
// CHECK-LABEL: .entry load_after_wait(
// CHECK: ld.shared.b32
// CHECK: mbarrier.try_wait
// CHECK: @{{.*}} bra
// CHECK: ld.shared.b32
// CHECK-NOT: mbarrier
// CHECK: ret;
llvm.func @load_after_wait(%out: !llvm.ptr<1>, %phase: i32) attributes {nvvm.kernel} {
  %bar = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %data = llvm.getelementptr inbounds %bar[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %before = llvm.load %data : !llvm.ptr<3> -> i32
  %address = llvm.ptrtoint %bar : !llvm.ptr<3> to i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  llvm.br ^wait
^wait:
  %done = llvm.inline_asm has_side_effects "{\0A.reg .pred p;\0Ambarrier.try_wait.parity.shared::cta.b64 p, [$1], $2;\0Aselp.b32 $0, 1, 0, p;\0A}",
      "=r,r,r" %address, %phase : (i32, i32) -> i32
  %again = llvm.icmp "eq" %done, %zero : i32
  llvm.cond_br %again, ^wait, ^after
^after:
  %behind = llvm.load %data : !llvm.ptr<3> -> i32
  %sum = llvm.add %before, %behind : i32
  llvm.store %sum, %out : i32, !llvm.ptr<1>
  llvm.return
}

// As the intrinsic, which is the form to prefer.
// CHECK-LABEL: .entry load_after_intrinsic(
// CHECK: ld.shared.b32
// CHECK: mbarrier.try_wait
// CHECK: @{{.*}} bra
// CHECK: ld.shared.b32
// CHECK: ret;
llvm.func @load_after_intrinsic(%out: !llvm.ptr<1>, %phase: i32) attributes {nvvm.kernel} {
  %bar = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %data = llvm.getelementptr inbounds %bar[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %before = llvm.load %data : !llvm.ptr<3> -> i32
  llvm.br ^wait
^wait:
  %done = nvvm.mbarrier.try_wait %bar, %phase : !llvm.ptr<3>, i32 -> i1
  llvm.cond_br %done, ^after, ^wait
^after:
  %behind = llvm.load %data : !llvm.ptr<3> -> i32
  %sum = llvm.add %before, %behind : i32
  llvm.store %sum, %out : i32, !llvm.ptr<1>
  llvm.return
}

// One barrier before two branches that diverge stays one, before them.
// CHECK-LABEL: .entry barrier_once(
// CHECK-NOT: bra
// CHECK: bar.sync 1, 64;
// CHECK-NOT: bar.sync
// CHECK: ret;
llvm.func @barrier_once(%out: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %small = llvm.icmp "slt" %tid, %n : i32
  llvm.inline_asm has_side_effects "bar.sync 1, 64;", "" : () -> ()
  llvm.cond_br %small, ^one, ^other
^one:
  llvm.store volatile %tid, %out : i32, !llvm.ptr<1>
  llvm.br ^done
^other:
  llvm.store volatile %n, %out : i32, !llvm.ptr<1>
  llvm.br ^done
^done:
  llvm.return
}

// The same barrier in both branches stays in both.
// CHECK-LABEL: .entry barrier_twice(
// CHECK: bra
// CHECK-COUNT-2: bar.sync 2, 64;
// CHECK: ret;
llvm.func @barrier_twice(%out: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %small = llvm.icmp "slt" %tid, %n : i32
  llvm.cond_br %small, ^one, ^other
^one:
  llvm.inline_asm has_side_effects "bar.sync 2, 64;", "" : () -> ()
  llvm.store volatile %tid, %out : i32, !llvm.ptr<1>
  llvm.br ^done
^other:
  llvm.inline_asm has_side_effects "bar.sync 2, 64;", "" : () -> ()
  llvm.store volatile %n, %out : i32, !llvm.ptr<1>
  llvm.br ^done
^done:
  llvm.return
}

// A barrier in the header of a loop: no second copy in front of the loop.
// CHECK-LABEL: .entry barrier_in_loop(
// CHECK: bar.sync 3, 64;
// CHECK-NOT: bar.sync
// CHECK: ret;
llvm.func @barrier_in_loop(%out: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.br ^header(%zero : i32)
^header(%i: i32):
  llvm.inline_asm has_side_effects "bar.sync 3, 64;", "" : () -> ()
  %more = llvm.icmp "slt" %i, %n : i32
  llvm.cond_br %more, ^body, ^done
^body:
  llvm.store volatile %i, %out : i32, !llvm.ptr<1>
  %next = llvm.add %i, %one : i32
  llvm.br ^header(%next : i32)
^done:
  llvm.return
}

// What is stored comes before the copy that reads it, and the copy is not dead.
// IR-LABEL: define ptx_kernel void @unread_store
// IR: call void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d({{.*}} #[[$CONVERGENT]]
// CHECK-LABEL: .entry unread_store(
// CHECK-NOT: .local
// CHECK: st.shared.b32
// CHECK: fence.proxy.async
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta
// CHECK-NEXT: cp.async.bulk.commit_group;
// CHECK-NEXT: cp.async.bulk.wait_group.read 0;
// CHECK-NEXT: ret;
llvm.func @unread_store(
    %map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
    %value: i32) attributes {nvvm.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
  llvm.store %value, %smem : i32, !llvm.ptr<3>
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.cp.async.bulk.tensor.global.shared.cta %map, %smem, box[%zero, %zero] : !llvm.ptr, !llvm.ptr<3>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {read}
  llvm.return
}

// Which thread is elected depends on who is there: not on the branch that uses it.
// IR-LABEL: define ptx_kernel void @elect
// IR: call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1) #[[$CONVERGENT]]
// CHECK-LABEL: .entry elect(
// CHECK: elect.sync
// CHECK: bra
// CHECK: ret;
llvm.func @elect(%out: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
  %elected = nvvm.elect.sync -> i1
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %small = llvm.icmp "slt" %tid, %n : i32
  llvm.cond_br %small, ^one, ^done
^one:
  %value = llvm.zext %elected : i1 to i32
  llvm.store volatile %value, %out : i32, !llvm.ptr<1>
  llvm.br ^done
^done:
  llvm.return
}

// Without side effects inline assembly is a function of its operands: equal calls
// are one, and what is stored around them may be combined.
// IR-LABEL: define ptx_kernel void @pure
// IR: asm "ex2.approx.ftz.f32 $0, $1;", "=f,f"(float %{{.*}}) #[[$PURE:[0-9]+]]
// CHECK-LABEL: .entry pure(
// CHECK: ex2.approx
// CHECK-NOT: ex2.approx
// CHECK: st.global
// CHECK-NOT: st.global
// CHECK: ret;
llvm.func @pure(%out: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
  %a = llvm.inline_asm "ex2.approx.ftz.f32 $0, $1;", "=f,f" %x : (f32) -> f32
  llvm.store %a, %out : f32, !llvm.ptr<1>
  %b = llvm.inline_asm "ex2.approx.ftz.f32 $0, $1;", "=f,f" %x : (f32) -> f32
  %sum = llvm.fadd %a, %b : f32
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  llvm.return
}

// IR-DAG: attributes #[[$CONVERGENT]] = { convergent }
// IR-DAG: attributes #[[$PURE]] = { convergent memory(none) }
