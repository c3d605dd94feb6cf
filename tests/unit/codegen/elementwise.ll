; ModuleID = 'kernel'
source_filename = "kernel"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: mustprogress nofree nosync nounwind willreturn
define void @kernel(ptr nocapture noundef readonly %buffers, ptr nocapture noundef readonly %vars, i64 %grid_begin, i64 %grid_end) #0 {
entry:
  %0 = getelementptr inbounds ptr, ptr %buffers, i64 0
  %buffer0 = load ptr, ptr %0, align 8, !invariant.load !1, !noundef !1
  %1 = getelementptr inbounds ptr, ptr %buffers, i64 1
  %buffer1 = load ptr, ptr %1, align 8, !invariant.load !1, !noundef !1
  %2 = getelementptr inbounds ptr, ptr %buffers, i64 2
  %buffer2 = load ptr, ptr %2, align 8, !invariant.load !1, !noundef !1
  br label %axis0.head

axis0.head:                                       ; preds = %axis0.body, %entry
  %axis0 = phi i64 [ 0, %entry ], [ %axis0.next, %axis0.body ]
  %3 = icmp slt i64 %axis0, 64
  br i1 %3, label %axis0.body, label %axis0.exit

axis0.body:                                       ; preds = %axis0.head
  %4 = getelementptr inbounds float, ptr %buffer1, i64 %axis0
  %5 = load float, ptr %4, align 4, !invariant.load !1, !alias.scope !2, !noalias !5
  %6 = getelementptr inbounds float, ptr %buffer2, i64 %axis0
  %7 = load float, ptr %6, align 4, !invariant.load !1, !alias.scope !8, !noalias !9
  %8 = fmul contract float %5, %5
  %9 = fadd contract float %8, %7
  %10 = getelementptr inbounds float, ptr %buffer0, i64 %axis0
  store float %9, ptr %10, align 4, !alias.scope !10, !noalias !11
  %axis0.next = add nuw nsw i64 %axis0, 1
  br label %axis0.head

axis0.exit:                                       ; preds = %axis0.head
  ret void
}

attributes #0 = { mustprogress nofree nosync nounwind willreturn "min-legal-vector-width"="0" "prefer-vector-width"="256" "target-cpu"="x86-64" "target-features"="+avx2" "tune-cpu"="haswell" }

!llvm.module.flags = !{!0}

!0 = !{i32 8, !"PIC Level", i32 2}
!1 = !{}
!2 = !{!3}
!3 = !{!"buffer1", !4}
!4 = !{!"kernel"}
!5 = !{!6, !7}
!6 = !{!"buffer0", !4}
!7 = !{!"buffer2", !4}
!8 = !{!7}
!9 = !{!6, !3}
!10 = !{!6}
!11 = !{!3, !7}
