	.file	"<string>"
	.section	.ltext,"axl",@progbits
	.globl	_ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29
	.p2align	4
	.type	_ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29,@function
_ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	pushq	%r15
	.cfi_def_cfa_offset 24
	pushq	%r14
	.cfi_def_cfa_offset 32
	pushq	%r13
	.cfi_def_cfa_offset 40
	pushq	%r12
	.cfi_def_cfa_offset 48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset %rbx, -56
	.cfi_offset %r12, -48
	.cfi_offset %r13, -40
	.cfi_offset %r14, -32
	.cfi_offset %r15, -24
	.cfi_offset %rbp, -16
	movq	328(%rsp), %rax
	movq	288(%rsp), %r14
	movq	56(%rsp), %r10
	movq	272(%rsp), %r8
	movq	184(%rsp), %rsi
	movq	%rdi, -8(%rsp)
	movq	%rax, %rdx
	sarq	$63, %rdx
	leaq	(%r14,%r14,2), %rdi
	leaq	(%r8,%r14,8), %rbx
	movq	64(%rsi), %r9
	andq	%r14, %rdx
	shlq	$4, %r14
	addq	%rax, %rdx
	movq	(%r10), %rax
	leaq	(%r8,%rdi,8), %r10
	addq	%r8, %r14
	movq	%rbx, -48(%rsp)
	movq	(%r8,%rdx,8), %r11
	movq	(%rbx,%rdx,8), %r12
	movq	(%r14,%rdx,8), %r13
	movq	%r14, %rdi
	movq	(%r10,%rdx,8), %r15
	movq	112(%rsp), %rdx
	movq	%r10, -56(%rsp)
	movq	%rax, %rbp
	subq	136(%rsp), %rbp
	subq	%r9, %rax
	movq	%r11, -24(%rsp)
	movq	%r12, -40(%rsp)
	movq	%r13, -16(%rsp)
	movq	(%rdx), %rdx
	movq	%r15, -32(%rsp)
	cmpq	%rbp, %rax
	movq	%rbp, %rsi
	movq	%rbp, %rcx
	cmovlq	%rax, %rsi
	subq	%r9, %rcx
	addq	144(%rsp), %rcx
	movq	%r10, %r9
	cmpq	$9, %rdx
	cmoveq	%r12, %r15
	cmoveq	%r8, %rdi
	cmoveq	%rbx, %r9
	movq	%r13, %rbx
	cmoveq	%r11, %rbx
	movq	%r11, %r8
	cmpq	%r15, %rcx
	setg	%r15b
	cmpq	%rbx, %rax
	movq	%r14, %rbx
	setg	%al
	cmpq	64(%rdi), %rbp
	movq	-48(%rsp), %rbp
	setg	%dil
	orb	%al, %dil
	cmpq	$7, %rdx
	movabsq	$1000000000000000000, %rax
	setl	%dl
	orb	%r15b, %dl
	movq	%r10, %r15
	movq	-32(%rsp), %r10
	orb	%dil, %dl
	cmpq	64(%r9), %rcx
	movq	%r10, %r11
	setg	%cl
	cmpq	%rax, %rsi
	setg	%al
	orb	%cl, %al
	movq	56(%rsp), %rcx
	orb	%dl, %al
	movq	8(%rcx), %rdx
	movq	136(%rsp), %rcx
	movq	%rdx, %rsi
	subq	%rcx, %rsi
	movq	184(%rsp), %rcx
	movq	%rsi, %r9
	movq	72(%rcx), %rdi
	movq	%rsi, %rcx
	subq	%rdi, %rdx
	cmpq	%rsi, %rdx
	cmovlq	%rdx, %rcx
	subq	%rdi, %r9
	movq	112(%rsp), %rdi
	addq	144(%rsp), %r9
	movq	8(%rdi), %rdi
	cmpq	$9, %rdi
	cmoveq	272(%rsp), %rbx
	cmoveq	%r12, %r11
	movq	%r13, %r12
	cmoveq	%r8, %r12
	cmoveq	%rbp, %r15
	movq	%rbp, %r8
	cmpq	%r11, %r9
	setg	%r11b
	cmpq	%r12, %rdx
	movq	%r13, %r12
	setg	%dl
	cmpq	72(%rbx), %rsi
	movq	-56(%rsp), %rbx
	setg	%sil
	orb	%dl, %sil
	cmpq	$7, %rdi
	movabsq	$1000000000000000000, %rdi
	setl	%dl
	orb	%r11b, %dl
	movq	%r14, %r11
	orb	%sil, %dl
	cmpq	72(%r15), %r9
	movq	%r10, %r15
	movq	-24(%rsp), %r10
	setg	%sil
	cmpq	%rdi, %rcx
	setg	%cl
	orb	%sil, %cl
	orb	%dl, %cl
	orb	%al, %cl
	movq	56(%rsp), %rax
	movq	16(%rax), %rdx
	movq	184(%rsp), %rax
	movq	80(%rax), %rdi
	movq	%rdx, %rsi
	subq	136(%rsp), %rsi
	subq	%rdi, %rdx
	movq	%rsi, %rax
	movq	%rsi, %r9
	cmpq	%rsi, %rdx
	cmovlq	%rdx, %rax
	subq	%rdi, %r9
	movq	112(%rsp), %rdi
	addq	144(%rsp), %r9
	movq	16(%rdi), %rdi
	cmpq	$9, %rdi
	cmoveq	%rbp, %rbx
	movq	-40(%rsp), %rbp
	cmoveq	272(%rsp), %r11
	cmoveq	%r10, %r12
	cmoveq	%rbp, %r15
	cmpq	%r15, %r9
	setg	%r15b
	cmpq	%r12, %rdx
	setg	%dl
	cmpq	80(%r11), %rsi
	setg	%sil
	orb	%dl, %sil
	cmpq	$7, %rdi
	movabsq	$1000000000000000000, %rdi
	setl	%dl
	orb	%r15b, %dl
	movq	112(%rsp), %r15
	orb	%sil, %dl
	cmpq	80(%rbx), %r9
	movq	%r14, %rbx
	setg	%sil
	cmpq	%rdi, %rax
	setg	%al
	orb	%sil, %al
	orb	%dl, %al
	movq	56(%rsp), %rdx
	movq	24(%rdx), %rsi
	movq	184(%rsp), %rdx
	movq	88(%rdx), %r9
	movq	%rsi, %rdi
	subq	136(%rsp), %rdi
	subq	%r9, %rsi
	movq	%rdi, %rdx
	movq	%rdi, %r11
	cmpq	%rdi, %rsi
	cmovlq	%rsi, %rdx
	subq	%r9, %r11
	movq	24(%r15), %r9
	movq	-56(%rsp), %r15
	addq	144(%rsp), %r11
	cmpq	$9, %r9
	cmoveq	%r8, %r15
	movq	-32(%rsp), %r8
	cmoveq	272(%rsp), %rbx
	movq	%r8, %r12
	cmoveq	%rbp, %r12
	movq	%r13, %rbp
	cmoveq	%r10, %r13
	cmpq	%r12, %r11
	setg	%r12b
	cmpq	%r13, %rsi
	movq	%r8, %r13
	setg	%sil
	cmpq	88(%rbx), %rdi
	movq	-56(%rsp), %rbx
	setg	%dil
	orb	%sil, %dil
	cmpq	$7, %r9
	setl	%sil
	orb	%r12b, %sil
	movq	%rbp, %r12
	movq	-24(%rsp), %rbp
	orb	%dil, %sil
	cmpq	88(%r15), %r11
	movabsq	$1000000000000000000, %rdi
	movq	%r14, %r11
	movq	%r8, %r15
	movq	112(%rsp), %r8
	setg	%r9b
	cmpq	%rdi, %rdx
	movq	272(%rsp), %rdi
	setg	%r10b
	orb	%r9b, %r10b
	orb	%sil, %r10b
	orb	%al, %r10b
	movq	56(%rsp), %rax
	orb	%cl, %r10b
	movq	32(%rax), %rcx
	movq	136(%rsp), %rax
	movq	%rcx, %rdx
	subq	%rax, %rdx
	movq	184(%rsp), %rax
	movq	%rdx, %r9
	movq	96(%rax), %rsi
	movq	%rdx, %rax
	subq	%rsi, %rcx
	cmpq	%rdx, %rcx
	cmovlq	%rcx, %rax
	subq	%rsi, %r9
	movq	144(%rsp), %rsi
	addq	%rsi, %r9
	movq	112(%rsp), %rsi
	movq	32(%rsi), %rsi
	cmpq	$9, %rsi
	cmoveq	%rdi, %r11
	movq	-40(%rsp), %rdi
	cmoveq	-48(%rsp), %rbx
	cmoveq	%rbp, %r12
	cmoveq	%rdi, %r15
	cmpq	%r15, %r9
	setg	%r15b
	cmpq	%r12, %rcx
	movq	%r13, %r12
	setg	%cl
	cmpq	96(%r11), %rdx
	setg	%dl
	orb	%cl, %dl
	cmpq	$7, %rsi
	movabsq	$1000000000000000000, %rcx
	setl	%sil
	orb	%r15b, %sil
	movq	-56(%rsp), %r15
	orb	%dl, %sil
	cmpq	96(%rbx), %r9
	movq	%r14, %rbx
	setg	%dl
	cmpq	%rcx, %rax
	movq	56(%rsp), %rax
	setg	%cl
	orb	%dl, %cl
	orb	%sil, %cl
	movq	40(%rax), %rdx
	movq	184(%rsp), %rax
	movq	104(%rax), %r9
	movq	%rdx, %rsi
	subq	136(%rsp), %rsi
	subq	%r9, %rdx
	movq	%rsi, %rax
	movq	%rsi, %r11
	cmpq	%rsi, %rdx
	cmovlq	%rdx, %rax
	subq	%r9, %r11
	movq	40(%r8), %r9
	addq	144(%rsp), %r11
	movq	-48(%rsp), %r8
	cmpq	$9, %r9
	cmoveq	%rdi, %r12
	movq	-16(%rsp), %rdi
	cmoveq	272(%rsp), %rbx
	cmoveq	%r8, %r15
	movq	%rdi, %r13
	cmoveq	%rbp, %r13
	cmpq	%r12, %r11
	setg	%r12b
	cmpq	%r13, %rdx
	movq	%rdi, %r13
	setg	%dl
	cmpq	104(%rbx), %rsi
	movq	112(%rsp), %rbx
	setg	%sil
	orb	%dl, %sil
	cmpq	$7, %r9
	movabsq	$1000000000000000000, %rdx
	setl	%r9b
	orb	%r12b, %r9b
	orb	%sil, %r9b
	cmpq	104(%r15), %r11
	movq	-56(%rsp), %r15
	setg	%sil
	cmpq	%rdx, %rax
	movq	56(%rsp), %rax
	setg	%dl
	orb	%sil, %dl
	orb	%r9b, %dl
	orb	%cl, %dl
	movq	184(%rsp), %rcx
	movq	48(%rax), %rax
	movq	112(%rcx), %r9
	movq	%rax, %rsi
	subq	136(%rsp), %rsi
	subq	%r9, %rax
	cmpq	%rsi, %rax
	movq	%rsi, %rcx
	movq	%rsi, %r11
	cmovlq	%rax, %rcx
	subq	%r9, %r11
	movq	48(%rbx), %r9
	addq	144(%rsp), %r11
	movq	%r14, %rbx
	cmpq	$9, %r9
	cmoveq	%r8, %r15
	movq	-32(%rsp), %r8
	cmoveq	272(%rsp), %rbx
	cmoveq	%rbp, %r13
	movq	%r8, %r12
	cmoveq	-40(%rsp), %r12
	cmpq	%r12, %r11
	setg	%r12b
	cmpq	%r13, %rax
	setg	%al
	cmpq	112(%rbx), %rsi
	movq	-16(%rsp), %rbx
	setg	%sil
	orb	%al, %sil
	cmpq	$7, %r9
	movq	56(%rsp), %rax
	setl	%r9b
	orb	%r12b, %r9b
	orb	%sil, %r9b
	cmpq	112(%r15), %r11
	movabsq	$1000000000000000000, %r15
	movq	56(%rax), %rax
	setg	%r11b
	cmpq	%r15, %rcx
	setg	%cl
	orb	%r11b, %cl
	movq	%rax, %rsi
	subq	136(%rsp), %rsi
	orb	%r9b, %cl
	orb	%dl, %cl
	movq	184(%rsp), %rdx
	orb	%r10b, %cl
	movq	112(%rsp), %r10
	movq	%rsi, %r9
	movq	120(%rdx), %rdi
	movq	%rsi, %rdx
	subq	%rdi, %rax
	cmpq	%rsi, %rax
	cmovlq	%rax, %rdx
	subq	%rdi, %r9
	movq	56(%r10), %rdi
	addq	144(%rsp), %r9
	movq	-56(%rsp), %r10
	cmpq	$9, %rdi
	cmoveq	-40(%rsp), %r8
	cmoveq	272(%rsp), %r14
	cmoveq	-48(%rsp), %r10
	cmoveq	%rbp, %rbx
	cmpq	%r8, %r9
	setg	%r11b
	cmpq	%rbx, %rax
	setg	%al
	cmpq	120(%r14), %rsi
	setg	%sil
	orb	%al, %sil
	cmpq	$7, %rdi
	setl	%al
	orb	%r11b, %al
	orb	%sil, %al
	cmpq	120(%r10), %r9
	setg	%sil
	cmpq	%r15, %rdx
	setg	%dl
	orb	%sil, %dl
	orb	%al, %dl
	movq	-8(%rsp), %rax
	orb	%cl, %dl
	notb	%dl
	andb	$1, %dl
	movb	%dl, (%rax)
	xorl	%eax, %eax
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%r12
	.cfi_def_cfa_offset 40
	popq	%r13
	.cfi_def_cfa_offset 32
	popq	%r14
	.cfi_def_cfa_offset 24
	popq	%r15
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end0:
	.size	_ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29, .Lfunc_end0-_ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29
	.cfi_endproc

	.globl	_ZN7cpython10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29
	.p2align	4
	.type	_ZN7cpython10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29,@function
_ZN7cpython10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	pushq	%r15
	.cfi_def_cfa_offset 24
	pushq	%r14
	.cfi_def_cfa_offset 32
	pushq	%r13
	.cfi_def_cfa_offset 40
	pushq	%r12
	.cfi_def_cfa_offset 48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	subq	$472, %rsp
	.cfi_def_cfa_offset 528
	.cfi_offset %rbx, -56
	.cfi_offset %r12, -48
	.cfi_offset %r13, -40
	.cfi_offset %r14, -32
	.cfi_offset %r15, -24
	.cfi_offset %rbp, -16
	leaq	96(%rsp), %rbx
	movq	%rsi, %rdi
	leaq	104(%rsp), %r14
	leaq	112(%rsp), %r15
	leaq	120(%rsp), %r12
	leaq	128(%rsp), %r13
	leaq	136(%rsp), %rbp
	leaq	144(%rsp), %r10
	movabsq	$.const._none_exceeds, %rsi
	movabsq	$PyArg_UnpackTuple, %r11
	leaq	168(%rsp), %r8
	movl	$10, %edx
	movl	$10, %ecx
	leaq	160(%rsp), %r9
	xorl	%eax, %eax
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	leaq	208(%rsp), %r10
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	callq	*%r11
	addq	$64, %rsp
	.cfi_adjust_cfa_offset -64
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%ymm0, 288(%rsp)
	vmovups	%ymm0, 256(%rsp)
	vmovups	%ymm0, 312(%rsp)
	vmovups	%ymm0, 176(%rsp)
	vmovups	%ymm0, 208(%rsp)
	movq	$0, 240(%rsp)
	movb	$0, 7(%rsp)
	testl	%eax, %eax
	je	.LBB1_1
	movabsq	$_ZN08NumbaEnv10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29, %rax
	cmpq	$0, (%rax)
	je	.LBB1_4
	movq	168(%rsp), %rdi
	movabsq	$NRT_adapt_ndarray_from_python, %r12
	leaq	416(%rsp), %rsi
	vmovups	%ymm0, 416(%rsp)
	vmovups	%ymm0, 440(%rsp)
	vzeroupper
	callq	*%r12
	testl	%eax, %eax
	jne	.LBB1_8
	cmpq	$8, 440(%rsp)
	jne	.LBB1_8
	movq	160(%rsp), %rdi
	movq	416(%rsp), %r13
	movq	448(%rsp), %rbx
	leaq	352(%rsp), %rsi
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%ymm0, 352(%rsp)
	vmovups	%ymm0, 376(%rsp)
	vzeroupper
	callq	*%r12
	testl	%eax, %eax
	jne	.LBB1_11
	cmpq	$8, 376(%rsp)
	jne	.LBB1_11
	movq	352(%rsp), %rax
	movq	384(%rsp), %rcx
	movq	152(%rsp), %rdi
	movq	%rbx, 8(%rsp)
	movabsq	$PyNumber_Long, %rbx
	movq	%rax, 48(%rsp)
	movq	%rcx, 88(%rsp)
	callq	*%rbx
	movabsq	$PyLong_AsLongLong, %r14
	movabsq	$Py_DecRef, %rbp
	movq	%r13, 56(%rsp)
	testq	%rax, %rax
	je	.LBB1_15
	movq	%rax, %rdi
	movq	%rax, %r15
	callq	*%r14
	movq	%r15, %rdi
	movq	%rax, 40(%rsp)
	callq	*%rbp
	movabsq	$PyErr_Occurred, %r13
	callq	*%r13
	testq	%rax, %rax
	jne	.LBB1_29
.LBB1_18:
	movq	144(%rsp), %rdi
	callq	*%rbx
	testq	%rax, %rax
	je	.LBB1_19
	movq	%rax, %rdi
	movq	%rax, %r15
	callq	*%r14
	movq	%r15, %rdi
	movq	%rax, 16(%rsp)
	callq	*%rbp
	callq	*%r13
	testq	%rax, %rax
	jne	.LBB1_29
.LBB1_22:
	movq	136(%rsp), %rdi
	leaq	256(%rsp), %rsi
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%ymm0, 288(%rsp)
	vmovups	%ymm0, 256(%rsp)
	vmovups	%ymm0, 312(%rsp)
	vzeroupper
	callq	*%r12
	cmpq	$8, 280(%rsp)
	setne	%cl
	testl	%eax, %eax
	setne	%bpl
	orb	%cl, %bpl
	cmpb	$1, %bpl
	je	.LBB1_23
	testb	%bpl, %bpl
	jne	.LBB1_29
.LBB1_25:
	movq	288(%rsp), %rax
	movq	128(%rsp), %rdi
	movq	256(%rsp), %r15
	leaq	176(%rsp), %rsi
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%ymm0, 176(%rsp)
	vmovups	%ymm0, 208(%rsp)
	movq	$0, 240(%rsp)
	movq	%rax, 80(%rsp)
	vzeroupper
	callq	*%r12
	cmpq	$8, 200(%rsp)
	setne	%cl
	testl	%eax, %eax
	setne	%bpl
	orb	%cl, %bpl
	jne	.LBB1_26
	testb	%bpl, %bpl
	jne	.LBB1_28
.LBB1_31:
	movq	176(%rsp), %rax
	movq	208(%rsp), %rdx
	movq	224(%rsp), %rcx
	movq	120(%rsp), %rdi
	movq	%r15, 32(%rsp)
	movq	%rax, 24(%rsp)
	movq	%rdx, 72(%rsp)
	movq	%rcx, 64(%rsp)
	callq	*%rbx
	movabsq	$Py_DecRef, %rbp
	testq	%rax, %rax
	je	.LBB1_33
	movq	%rax, %rdi
	movq	%rax, %r15
	callq	*%r14
	movq	%r15, %rdi
	callq	*%rbp
.LBB1_33:
	callq	*%r13
	testq	%rax, %rax
	jne	.LBB1_30
	movq	112(%rsp), %rdi
	callq	*%rbx
	testq	%rax, %rax
	je	.LBB1_36
	movq	%rax, %rdi
	movq	%rax, %r15
	callq	*%r14
	movq	%r15, %rdi
	callq	*%rbp
.LBB1_36:
	callq	*%r13
	testq	%rax, %rax
	jne	.LBB1_30
	movq	104(%rsp), %rdi
	callq	*%rbx
	testq	%rax, %rax
	je	.LBB1_38
	movq	%rax, %rdi
	movq	%rax, %r12
	callq	*%r14
	movq	%r12, %rdi
	movq	%rax, %r15
	callq	*%rbp
	callq	*%r13
	testq	%rax, %rax
	jne	.LBB1_30
.LBB1_41:
	movq	96(%rsp), %rdi
	callq	*%rbx
	testq	%rax, %rax
	je	.LBB1_43
	movq	%rax, %rdi
	movq	%rax, %r12
	callq	*%r14
	movq	%r12, %rdi
	callq	*%rbp
.LBB1_43:
	callq	*%r13
	testq	%rax, %rax
	jne	.LBB1_30
	movabsq	$PyEval_SaveThread, %rax
	callq	*%rax
	movq	%rax, %r14
	subq	$288, %rsp
	.cfi_adjust_cfa_offset 288
	movq	360(%rsp), %rdi
	movq	368(%rsp), %rdx
	movq	352(%rsp), %rax
	movq	%r15, 272(%rsp)
	movq	312(%rsp), %rbx
	movq	320(%rsp), %r15
	movq	336(%rsp), %rbp
	movq	344(%rsp), %r13
	movq	%rdi, 216(%rsp)
	movq	304(%rsp), %rdi
	movq	%rdx, 128(%rsp)
	movq	328(%rsp), %rdx
	movq	%rax, 232(%rsp)
	movabsq	$_ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29, %rax
	movq	%rbx, 184(%rsp)
	movq	%r15, 96(%rsp)
	movq	%rbp, 24(%rsp)
	movq	%rdi, 88(%rsp)
	movq	376(%rsp), %rdi
	movq	%rdx, 80(%rsp)
	movq	296(%rsp), %rdx
	movq	%rdi, 56(%rsp)
	leaq	295(%rsp), %rdi
	movq	%rdx, (%rsp)
	movq	%r13, %rdx
	callq	*%rax
	addq	$288, %rsp
	.cfi_adjust_cfa_offset -288
	movzbl	7(%rsp), %ecx
	movl	%eax, %r12d
	movabsq	$PyEval_RestoreThread, %rax
	movq	%r14, %rdi
	movb	%cl, 8(%rsp)
	callq	*%rax
	movabsq	$NRT_decref, %r14
	movq	%r13, %rdi
	callq	*%r14
	movq	%rbp, %rdi
	callq	*%r14
	movq	%r15, %rdi
	callq	*%r14
	movq	%rbx, %rdi
	callq	*%r14
	testl	%r12d, %r12d
	jne	.LBB1_45
	xorl	%edi, %edi
	cmpb	$0, 8(%rsp)
	movabsq	$PyBool_FromLong, %rax
	setne	%dil
	callq	*%rax
.LBB1_2:
	addq	$472, %rsp
	.cfi_def_cfa_offset 56
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%r12
	.cfi_def_cfa_offset 40
	popq	%r13
	.cfi_def_cfa_offset 32
	popq	%r14
	.cfi_def_cfa_offset 24
	popq	%r15
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	vzeroupper
	retq
.LBB1_45:
	.cfi_def_cfa_offset 528
	jg	.LBB1_51
	cmpl	$-1, %r12d
	je	.LBB1_1
	cmpl	$-3, %r12d
	jne	.LBB1_49
	movabsq	$PyExc_StopIteration, %rdi
	movabsq	$PyErr_SetNone, %rax
	callq	*%rax
	jmp	.LBB1_1
.LBB1_4:
	movabsq	$PyExc_RuntimeError, %rdi
	movabsq	$".const.missing Environment: _ZN08NumbaEnv10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29", %rsi
	jmp	.LBB1_5
.LBB1_8:
	movabsq	$PyExc_TypeError, %rdi
	movabsq	$".const.can't unbox array from PyObject into native value.  The object maybe of a different type", %rsi
	jmp	.LBB1_5
.LBB1_11:
	movabsq	$PyExc_TypeError, %rdi
	movabsq	$".const.can't unbox array from PyObject into native value.  The object maybe of a different type", %rsi
	movabsq	$PyErr_SetString, %rax
	callq	*%rax
	jmp	.LBB1_12
.LBB1_15:
	movq	$0, 40(%rsp)
	movabsq	$PyErr_Occurred, %r13
	callq	*%r13
	testq	%rax, %rax
	je	.LBB1_18
	jmp	.LBB1_29
.LBB1_19:
	movq	$0, 16(%rsp)
	callq	*%r13
	testq	%rax, %rax
	je	.LBB1_22
	jmp	.LBB1_29
.LBB1_23:
	movabsq	$PyExc_TypeError, %rdi
	movabsq	$".const.can't unbox array from PyObject into native value.  The object maybe of a different type", %rsi
	movabsq	$PyErr_SetString, %rax
	callq	*%rax
	testb	%bpl, %bpl
	je	.LBB1_25
	jmp	.LBB1_29
.LBB1_26:
	movabsq	$PyExc_TypeError, %rdi
	movabsq	$".const.can't unbox array from PyObject into native value.  The object maybe of a different type", %rsi
	movabsq	$PyErr_SetString, %rax
	callq	*%rax
	testb	%bpl, %bpl
	je	.LBB1_31
	jmp	.LBB1_28
.LBB1_38:
	xorl	%r15d, %r15d
	callq	*%r13
	testq	%rax, %rax
	je	.LBB1_41
.LBB1_30:
	movq	24(%rsp), %rdi
	movabsq	$NRT_decref, %rax
	callq	*%rax
	movq	32(%rsp), %r15
.LBB1_28:
	movabsq	$NRT_decref, %rax
	movq	%r15, %rdi
	callq	*%rax
.LBB1_29:
	movq	48(%rsp), %rdi
	movabsq	$NRT_decref, %rax
	callq	*%rax
	movq	56(%rsp), %r13
.LBB1_12:
	movabsq	$NRT_decref, %rax
	movq	%r13, %rdi
	callq	*%rax
	jmp	.LBB1_1
.LBB1_49:
	movabsq	$PyExc_SystemError, %rdi
	movabsq	$".const.unknown error when calling native function", %rsi
.LBB1_5:
	movabsq	$PyErr_SetString, %rax
	vzeroupper
	callq	*%rax
.LBB1_1:
	xorl	%eax, %eax
	jmp	.LBB1_2
.LBB1_51:
	movabsq	$PyErr_Clear, %rax
	callq	*%rax
.Lfunc_end1:
	.size	_ZN7cpython10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29, .Lfunc_end1-_ZN7cpython10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29
	.cfi_endproc

	.globl	cfunc._ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29
	.p2align	4
	.type	cfunc._ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29,@function
cfunc._ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	pushq	%rbx
	.cfi_def_cfa_offset 24
	subq	$296, %rsp
	.cfi_def_cfa_offset 320
	.cfi_offset %rbx, -24
	.cfi_offset %rbp, -16
	vmovaps	384(%rsp), %xmm0
	movq	%rdi, %rdx
	movq	400(%rsp), %rsi
	movq	432(%rsp), %rdi
	movq	488(%rsp), %r9
	movq	520(%rsp), %r10
	movq	536(%rsp), %r11
	movq	576(%rsp), %rbx
	movq	328(%rsp), %rax
	movq	360(%rsp), %rcx
	movq	%rdi, 128(%rsp)
	movq	%rbx, 272(%rsp)
	movq	%r11, 232(%rsp)
	movq	%r10, 216(%rsp)
	movq	%r9, 184(%rsp)
	movq	%rsi, 96(%rsp)
	leaq	291(%rsp), %rdi
	vmovups	%xmm0, 80(%rsp)
	movq	%rax, 24(%rsp)
	movabsq	$_ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29, %rax
	movq	%rcx, 56(%rsp)
	movq	%r8, (%rsp)
	callq	*%rax
	movzbl	291(%rsp), %ebp
	movl	$0, 292(%rsp)
	testl	%eax, %eax
	jne	.LBB2_1
.LBB2_5:
	testb	%bpl, %bpl
	setne	%al
	addq	$296, %rsp
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	retq
.LBB2_1:
	.cfi_def_cfa_offset 320
	movabsq	$numba_gil_ensure, %rcx
	leaq	292(%rsp), %rdi
	movl	%eax, %ebx
	callq	*%rcx
	testl	%ebx, %ebx
	jg	.LBB2_2
	movl	%ebx, %eax
	cmpl	$-1, %ebx
	je	.LBB2_4
	cmpl	$-3, %eax
	jne	.LBB2_3
	movabsq	$PyExc_StopIteration, %rdi
	movabsq	$PyErr_SetNone, %rax
	callq	*%rax
	jmp	.LBB2_4
.LBB2_3:
	movabsq	$PyExc_SystemError, %rdi
	movabsq	$".const.unknown error when calling native function.2", %rsi
	movabsq	$PyErr_SetString, %rax
	callq	*%rax
.LBB2_4:
	movabsq	$".const.<numba.core.cpu.CPUContext>", %rdi
	movabsq	$PyUnicode_FromString, %rax
	callq	*%rax
	movq	%rax, %rbx
	movabsq	$PyErr_WriteUnraisable, %rax
	movq	%rbx, %rdi
	callq	*%rax
	movabsq	$Py_DecRef, %rax
	movq	%rbx, %rdi
	callq	*%rax
	movabsq	$numba_gil_release, %rax
	leaq	292(%rsp), %rdi
	callq	*%rax
	jmp	.LBB2_5
.LBB2_2:
	movabsq	$PyErr_Clear, %rax
	callq	*%rax
.Lfunc_end2:
	.size	cfunc._ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29, .Lfunc_end2-cfunc._ZN10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29
	.cfi_endproc

	.weak	NRT_incref
	.p2align	4
	.type	NRT_incref,@function
NRT_incref:
	testq	%rdi, %rdi
	je	.LBB3_2
	lock		incq	(%rdi)
.LBB3_2:
	retq
.Lfunc_end3:
	.size	NRT_incref, .Lfunc_end3-NRT_incref

	.weak	NRT_decref
	.p2align	4
	.type	NRT_decref,@function
NRT_decref:
	.cfi_startproc
	testq	%rdi, %rdi
	je	.LBB4_2
	#MEMBARRIER
	lock		decq	(%rdi)
	je	.LBB4_3
.LBB4_2:
	retq
.LBB4_3:
	movabsq	$NRT_MemInfo_call_dtor, %rax
	#MEMBARRIER
	jmpq	*%rax
.Lfunc_end4:
	.size	NRT_decref, .Lfunc_end4-NRT_decref
	.cfi_endproc

	.type	.const._none_exceeds,@object
	.section	.lrodata,"al",@progbits
.const._none_exceeds:
	.asciz	"_none_exceeds"
	.size	.const._none_exceeds, 14

	.type	_ZN08NumbaEnv10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29,@object
	.comm	_ZN08NumbaEnv10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29,8,8
	.type	".const.missing Environment: _ZN08NumbaEnv10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29",@object
	.p2align	4, 0x0
".const.missing Environment: _ZN08NumbaEnv10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29":
	.asciz	"missing Environment: _ZN08NumbaEnv10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29"
	.size	".const.missing Environment: _ZN08NumbaEnv10highrelief8_kernels9pair_scan13_none_exceedsB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dE5ArrayIxLi1E1C7mutable7alignedE5ArrayIxLi1E1C7mutable7alignedExx5ArrayIxLi3E1C7mutable7alignedE5ArrayIxLi2E1C7mutable7alignedE41Literal_5bint_5d_281000000000000000000_2941Literal_5bint_5d_281000000000000000000_29x23Literal_5bint_5d_288_29", 384

	.type	".const.can't unbox array from PyObject into native value.  The object maybe of a different type",@object
	.p2align	4, 0x0
".const.can't unbox array from PyObject into native value.  The object maybe of a different type":
	.asciz	"can't unbox array from PyObject into native value.  The object maybe of a different type"
	.size	".const.can't unbox array from PyObject into native value.  The object maybe of a different type", 89

	.type	".const.unknown error when calling native function",@object
	.p2align	4, 0x0
".const.unknown error when calling native function":
	.asciz	"unknown error when calling native function"
	.size	".const.unknown error when calling native function", 43

	.type	".const.unknown error when calling native function.2",@object
	.p2align	4, 0x0
".const.unknown error when calling native function.2":
	.asciz	"unknown error when calling native function"
	.size	".const.unknown error when calling native function.2", 43

	.type	".const.<numba.core.cpu.CPUContext>",@object
	.p2align	4, 0x0
".const.<numba.core.cpu.CPUContext>":
	.asciz	"<numba.core.cpu.CPUContext>"
	.size	".const.<numba.core.cpu.CPUContext>", 28

	.type	_ZN08NumbaEnv5numba7cpython8builtins6ol_min12_3clocals_3e4implB3v11B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAw4hWqFpgsIBZmgA_3dE15StarArgUniTupleIxLi2EE,@object
	.comm	_ZN08NumbaEnv5numba7cpython8builtins6ol_min12_3clocals_3e4implB3v11B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAw4hWqFpgsIBZmgA_3dE15StarArgUniTupleIxLi2EE,8,8
	.section	".note.GNU-stack","",@progbits
