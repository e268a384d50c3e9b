//go:build !purego

#include "textflag.h"

// Sign bits of the numbers that a step of the transform subtracts.
DATA odd<>+0(SB)/8, $0x8000000000000000
DATA odd<>+8(SB)/8, $0x8000000000000000
DATA odd<>+16(SB)/8, $0x8000000000000000
DATA odd<>+24(SB)/8, $0x8000000000000000
GLOBL odd<>(SB), RODATA|NOPTR, $32

DATA pairs<>+0(SB)/8, $0
DATA pairs<>+8(SB)/8, $0x8000000080000000
DATA pairs<>+16(SB)/8, $0
DATA pairs<>+24(SB)/8, $0x8000000080000000
GLOBL pairs<>(SB), RODATA|NOPTR, $32

DATA halves<>+0(SB)/8, $0
DATA halves<>+8(SB)/8, $0
DATA halves<>+16(SB)/8, $0x8000000080000000
DATA halves<>+24(SB)/8, $0x8000000080000000
GLOBL halves<>(SB), RODATA|NOPTR, $32

// The lower four bits of each byte, and eight 8s.
DATA nibble<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA nibble<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL nibble<>(SB), RODATA|NOPTR, $16

DATA eights<>+0(SB)/8, $0x0000000800000008
DATA eights<>+8(SB)/8, $0x0000000800000008
DATA eights<>+16(SB)/8, $0x0000000800000008
DATA eights<>+24(SB)/8, $0x0000000800000008
GLOBL eights<>(SB), RODATA|NOPTR, $32

// WITHIN: a number in a register of eight becomes its sum with, or its difference from, the one 1, 2 or 4 places further.
#define WITHIN(Y) \
	VMOVSLDUP Y, Y8 \
	VMOVSHDUP Y, Y9 \
	VXORPS Y13, Y9, Y9 \
	VADDPS Y9, Y8, Y \
	VPERMILPS $0x44, Y, Y8 \
	VPERMILPS $0xEE, Y, Y9 \
	VXORPS Y14, Y9, Y9 \
	VADDPS Y9, Y8, Y \
	VPERM2F128 $0x00, Y, Y, Y8 \
	VPERM2F128 $0x11, Y, Y, Y9 \
	VXORPS Y15, Y9, Y9 \
	VADDPS Y9, Y8, Y

// BETWEEN: two registers become their sum and their difference.
#define BETWEEN(A, B) \
	VSUBPS B, A, Y8 \
	VADDPS B, A, A \
	VMOVAPS Y8, B

// ROUND: signs at SI, then all six steps of the transform.
#define ROUND \
	VXORPS 0(SI), Y0, Y0 \
	VXORPS 32(SI), Y1, Y1 \
	VXORPS 64(SI), Y2, Y2 \
	VXORPS 96(SI), Y3, Y3 \
	VXORPS 128(SI), Y4, Y4 \
	VXORPS 160(SI), Y5, Y5 \
	VXORPS 192(SI), Y6, Y6 \
	VXORPS 224(SI), Y7, Y7 \
	WITHIN(Y0) \
	WITHIN(Y1) \
	WITHIN(Y2) \
	WITHIN(Y3) \
	WITHIN(Y4) \
	WITHIN(Y5) \
	WITHIN(Y6) \
	WITHIN(Y7) \
	BETWEEN(Y0, Y1) \
	BETWEEN(Y2, Y3) \
	BETWEEN(Y4, Y5) \
	BETWEEN(Y6, Y7) \
	BETWEEN(Y0, Y2) \
	BETWEEN(Y1, Y3) \
	BETWEEN(Y4, Y6) \
	BETWEEN(Y5, Y7) \
	BETWEEN(Y0, Y4) \
	BETWEEN(Y1, Y5) \
	BETWEEN(Y2, Y6) \
	BETWEEN(Y3, Y7)

// func rotateAVX(p *Point, signs *[2][cellDimensions]uint32, by float32)
TEXT ·rotateAVX(SB), NOSPLIT, $0-20
	MOVQ         p+0(FP), DI
	MOVQ         signs+8(FP), SI
	VMOVUPS      odd<>(SB), Y13
	VMOVUPS      pairs<>(SB), Y14
	VMOVUPS      halves<>(SB), Y15
	VMOVUPS      0(DI), Y0
	VMOVUPS      32(DI), Y1
	VMOVUPS      64(DI), Y2
	VMOVUPS      96(DI), Y3
	VMOVUPS      128(DI), Y4
	VMOVUPS      160(DI), Y5
	VMOVUPS      192(DI), Y6
	VMOVUPS      224(DI), Y7
	ROUND
	ADDQ         $256, SI
	ROUND
	VBROADCASTSS by+16(FP), Y8
	VMULPS       Y8, Y0, Y0
	VMULPS       Y8, Y1, Y1
	VMULPS       Y8, Y2, Y2
	VMULPS       Y8, Y3, Y3
	VMULPS       Y8, Y4, Y4
	VMULPS       Y8, Y5, Y5
	VMULPS       Y8, Y6, Y6
	VMULPS       Y8, Y7, Y7
	VMOVUPS      Y0, 0(DI)
	VMOVUPS      Y1, 32(DI)
	VMOVUPS      Y2, 64(DI)
	VMOVUPS      Y3, 96(DI)
	VMOVUPS      Y4, 128(DI)
	VMOVUPS      Y5, 160(DI)
	VMOVUPS      Y6, 192(DI)
	VMOVUPS      Y7, 224(DI)
	VZEROUPPER
	RET

// func dotColumnsAVX(out, x, columns *float32, dimensions, count int)
//
// Thirty-two columns at a time. Y8 to Y11 add every fourth product, beginning with the first, second, third or fourth, and Y0 to Y3 add
// these four sums in this order.
TEXT ·dotColumnsAVX(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ columns+16(FP), R8
	MOVQ dimensions+24(FP), R9
	MOVQ count+32(FP), DX
	MOVQ DX, R13
	SHLQ $2, R13            // bytes from one dimension to the next
	LEAQ (R13)(R13*1), R14
	ADDQ R14, R14           // and to the fourth
	SHLQ $2, R9             // bytes of x

columns:
	CMPQ DX, $32
	JLT  done
	XORQ R10, R10           // which of the four sums, in bytes of x
	MOVQ R8, R11

sums:
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	MOVQ   R10, AX
	MOVQ   R11, R12

products:
	VBROADCASTSS (SI)(AX*1), Y12
	VMULPS       (R12), Y12, Y4
	VMULPS       32(R12), Y12, Y5
	VMULPS       64(R12), Y12, Y6
	VMULPS       96(R12), Y12, Y7
	VADDPS       Y4, Y8, Y8
	VADDPS       Y5, Y9, Y9
	VADDPS       Y6, Y10, Y10
	VADDPS       Y7, Y11, Y11
	ADDQ         R14, R12
	ADDQ         $16, AX
	CMPQ         AX, R9
	JLT          products

	TESTQ  R10, R10
	JNE    further
	VMOVAPS Y8, Y0
	VMOVAPS Y9, Y1
	VMOVAPS Y10, Y2
	VMOVAPS Y11, Y3
	JMP    next

further:
	VADDPS Y8, Y0, Y0
	VADDPS Y9, Y1, Y1
	VADDPS Y10, Y2, Y2
	VADDPS Y11, Y3, Y3

next:
	ADDQ R13, R11
	ADDQ $4, R10
	CMPQ R10, $16
	JLT  sums

	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	ADDQ    $128, DI
	ADDQ    $128, R8
	SUBQ    $32, DX
	JMP     columns

done:
	VZEROUPPER
	RET

// func nearestWordAVX(n *nearness) int
TEXT ·nearestWordAVX(SB), NOSPLIT, $0-16
	MOVQ         n+0(FP), SI
	VMOVUPS      (SI), Y0
	VMOVUPS      32(SI), Y1
	VMOVUPS      64(SI), Y2
	VMOVUPS      96(SI), Y3
	VMINPS       Y1, Y0, Y4
	VMINPS       Y3, Y2, Y5
	VMINPS       Y5, Y4, Y4
	VPERM2F128   $0x01, Y4, Y4, Y5
	VMINPS       Y5, Y4, Y4
	VPERMILPS    $0x4E, Y4, Y5
	VMINPS       Y5, Y4, Y4
	VPERMILPS    $0xB1, Y4, Y5
	VMINPS       Y5, Y4, Y4
	VCMPPS       $0, Y4, Y0, Y0
	VCMPPS       $0, Y4, Y1, Y1
	VCMPPS       $0, Y4, Y2, Y2
	VCMPPS       $0, Y4, Y3, Y3
	VMOVMSKPS    Y0, AX
	VMOVMSKPS    Y1, BX
	VMOVMSKPS    Y2, CX
	VMOVMSKPS    Y3, DX
	SHLQ         $8, BX
	SHLQ         $16, CX
	SHLQ         $24, DX
	ORQ          BX, AX
	ORQ          DX, CX
	ORQ          CX, AX
	BTSQ         $32, AX // no number equals the least if one is not a number
	BSFQ         AX, AX
	ANDQ         $31, AX
	MOVQ         AX, ret+8(FP)
	VZEROUPPER
	RET

// func addRowAVX(v *Vector, row *[vectorBytes]byte, scale float32)
//
// Sixteen numbers at a time: eight bytes become sixteen of four bits each, the lower four bits first.
TEXT ·addRowAVX(SB), NOSPLIT, $0-20
	MOVQ         v+0(FP), DI
	MOVQ         row+8(FP), SI
	VBROADCASTSS scale+16(FP), Y7
	VMOVDQU      nibble<>(SB), X6
	VMOVDQU      eights<>(SB), Y5
	MOVQ         $8, CX

chunk:
	VPMOVZXBW (SI), X0
	VPSLLW    $4, X0, X1
	VPOR      X1, X0, X0
	VPAND     X6, X0, X0
	VPMOVZXBD X0, Y1
	VPSRLDQ   $8, X0, X0
	VPMOVZXBD X0, Y2
	VPSUBD    Y5, Y1, Y1
	VPSUBD    Y5, Y2, Y2
	VCVTDQ2PS Y1, Y1
	VCVTDQ2PS Y2, Y2
	VMULPS    Y7, Y1, Y1
	VMULPS    Y7, Y2, Y2
	VADDPS    (DI), Y1, Y1
	VADDPS    32(DI), Y2, Y2
	VMOVUPS   Y1, (DI)
	VMOVUPS   Y2, 32(DI)
	ADDQ      $8, SI
	ADDQ      $64, DI
	DECQ      CX
	JNE       chunk
	VZEROUPPER
	RET
