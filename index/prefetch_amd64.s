//go:build !purego

#include "textflag.h"

// func prefetchSpans(recs *byte, spans *span, n int)
TEXT ·prefetchSpans(SB), NOSPLIT, $0-24
	MOVQ recs+0(FP), DI
	MOVQ spans+8(FP), SI
	MOVQ n+16(FP), CX
	TESTQ CX, CX
	JLE  done

loop:
	MOVL (SI), AX
	MOVL 4(SI), BX
	LEAQ (AX)(AX*4), AX
	LEAQ (BX)(BX*4), BX
	PREFETCHT0 (DI)(AX*2)
	PREFETCHT0 -1(DI)(BX*2)
	ADDQ $16, SI
	DECQ CX
	JNZ  loop

done:
	RET

// func prefetchGroups(groups *group, at uint32)
TEXT ·prefetchGroups(SB), NOSPLIT, $0-12
	MOVQ groups+0(FP), DI
	MOVL at+8(FP), DX
	XORL CX, CX

shift:
	MOVL $15, BX

value:
	MOVL BX, AX
	SHLL CX, AX
	XORL DX, AX
	LEAQ (AX)(AX*4), AX
	PREFETCHT0 (DI)(AX*4)
	PREFETCHT0 19(DI)(AX*4)
	DECL BX
	JGE  value
	ADDL $4, CX
	CMPL CX, $16
	JLT  shift
	RET

// func prefetchLines(at **byte, n int)
TEXT ·prefetchLines(SB), NOSPLIT, $0-16
	MOVQ at+0(FP), SI
	MOVQ n+8(FP), CX

line:
	MOVQ (SI), AX
	PREFETCHT0 (AX)
	ADDQ $8, SI
	DECQ CX
	JG   line
	RET
