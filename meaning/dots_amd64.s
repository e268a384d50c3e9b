//go:build !purego

#include "textflag.h"

// func dotRows(out, x, rows *float32, dimensions, count int)
//
// Four rows at a time: X0 to X3 are their four sums each, which are then turned round and added up as Dot does.
TEXT ·dotRows(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ rows+16(FP), R8
	MOVQ dimensions+24(FP), R9
	MOVQ count+32(FP), DX
	SHLQ $2, R9 // bytes of a row

four:
	CMPQ  DX, $4
	JLT   done
	LEAQ  (R8)(R9*1), R10
	LEAQ  (R10)(R9*1), R11
	LEAQ  (R11)(R9*1), R12
	XORPS X0, X0
	XORPS X1, X1
	XORPS X2, X2
	XORPS X3, X3
	XORQ  AX, AX

next:
	MOVUPS (SI)(AX*1), X4
	MOVUPS (R8)(AX*1), X5
	MOVUPS (R10)(AX*1), X6
	MOVUPS (R11)(AX*1), X7
	MOVUPS (R12)(AX*1), X8
	MULPS  X4, X5
	MULPS  X4, X6
	MULPS  X4, X7
	MULPS  X4, X8
	ADDPS  X5, X0
	ADDPS  X6, X1
	ADDPS  X7, X2
	ADDPS  X8, X3
	ADDQ   $16, AX
	CMPQ   AX, R9
	JLT    next

	MOVAPS   X0, X4
	UNPCKLPS X1, X4
	UNPCKHPS X1, X0
	MOVAPS   X2, X5
	UNPCKLPS X3, X5
	UNPCKHPS X3, X2
	MOVAPS   X4, X6
	MOVLHPS  X5, X6 // the first sums of the four rows
	MOVHLPS  X4, X5 // the second
	MOVAPS   X0, X7
	MOVLHPS  X2, X7 // the third
	MOVHLPS  X0, X2 // the fourth
	ADDPS    X5, X6
	ADDPS    X7, X6
	ADDPS    X2, X6
	MOVUPS   X6, (DI)
	ADDQ     $16, DI
	LEAQ     (R12)(R9*1), R8
	SUBQ     $4, DX
	JMP      four

done:
	RET
