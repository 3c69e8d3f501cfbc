	.file	"blend.c"
	.text
.Ltext0:
	.cfi_sections	.debug_frame
	.file 0 "/srv/blend" "blend.c" md5 0xa1edb94991ccf1fb547dea8d9d1144c4 source "/* Averages two rows of samples. */\nstatic inline unsigned char mean(unsigned char a, unsigned char b) {\n    return (unsigned char)((a + b + 1) / 2);\n}\n\nvoid blend(unsigned char *out, const unsigned char *a, const unsigned char *b, unsigned long size) {\n    for (unsigned long i = 0; i < size; i++)\n        out[i] = mean(a[i], b[i]);\n}\n"
	.globl	blend
	.type	blend, @function
blend:
.LFB1:
	.file 1 "./blend.c" md5 0xa1edb94991ccf1fb547dea8d9d1144c4 source "/* Averages two rows of samples. */\nstatic inline unsigned char mean(unsigned char a, unsigned char b) {\n    return (unsigned char)((a + b + 1) / 2);\n}\n\nvoid blend(unsigned char *out, const unsigned char *a, const unsigned char *b, unsigned long size) {\n    for (unsigned long i = 0; i < size; i++)\n        out[i] = mean(a[i], b[i]);\n}\n"
	.loc 1 6 100
	.cfi_startproc
.LVL0:
.LBB5:
	.loc 1 7 33
	testq	%rcx, %rcx
	je	.L1
	.loc 1 7 24
	movl	$0, %eax
.LVL1:
.L3:
	.loc 1 8 18 discriminator 3
	movzbl	(%rdx,%rax), %r9d
	movzbl	(%rsi,%rax), %r8d
.LBB6:
.LBB7:
	.loc 1 3 40 discriminator 3
	leal	1(%r9,%r8), %r8d
	sarl	%r8d
	.loc 1 3 12 discriminator 3
	movb	%r8b, (%rdi,%rax)
.LBE7:
.LBE6:
	.loc 1 7 42 discriminator 3
	addq	$1, %rax
.LVL2:
	.loc 1 7 33 discriminator 3
	cmpq	%rax, %rcx
	jne	.L3
.LVL3:
.L1:
.LBE5:
	.loc 1 9 1
	ret
	.cfi_endproc
.LFE1:
	.size	blend, .-blend
.Letext0:
	.section	.debug_info,"",@progbits
.Ldebug_info0:
	.long	0xf6
	.value	0x5
	.byte	0x1
	.byte	0x8
	.long	.Ldebug_abbrev0
	.uleb128 0x6
	.long	.LASF5
	.byte	0x1d
	.long	.LASF0
	.long	.LASF1
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.long	.Ldebug_line0
	.uleb128 0x7
	.long	.LASF6
	.byte	0x1
	.byte	0x6
	.byte	0x6
	.quad	.LFB1
	.quad	.LFE1-.LFB1
	.uleb128 0x1
	.byte	0x9c
	.long	0xbe
	.uleb128 0x1
	.string	"out"
	.byte	0x1b
	.long	0xbe
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x1
	.string	"a"
	.byte	0x35
	.long	0xcf
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x1
	.string	"b"
	.byte	0x4d
	.long	0xcf
	.uleb128 0x1
	.byte	0x51
	.uleb128 0x8
	.long	.LASF2
	.byte	0x1
	.byte	0x6
	.byte	0x5e
	.long	0xd4
	.uleb128 0x1
	.byte	0x52
	.uleb128 0x9
	.quad	.LBB5
	.quad	.LBE5-.LBB5
	.uleb128 0xa
	.string	"i"
	.byte	0x1
	.byte	0x7
	.byte	0x18
	.long	0xd4
	.long	.LLST0
	.uleb128 0xb
	.long	0xdb
	.quad	.LBB6
	.quad	.LBE6-.LBB6
	.byte	0x1
	.byte	0x8
	.byte	0x12
	.uleb128 0x2
	.long	0xf0
	.uleb128 0x2
	.long	0xe8
	.byte	0
	.byte	0
	.byte	0
	.uleb128 0x3
	.long	0xc3
	.uleb128 0x4
	.byte	0x1
	.byte	0x8
	.long	.LASF3
	.uleb128 0xc
	.long	0xc3
	.uleb128 0x3
	.long	0xca
	.uleb128 0x4
	.byte	0x8
	.byte	0x7
	.long	.LASF4
	.uleb128 0xd
	.long	.LASF7
	.byte	0x1
	.byte	0x2
	.byte	0x1d
	.long	0xc3
	.byte	0x3
	.uleb128 0x5
	.string	"a"
	.byte	0x30
	.long	0xc3
	.uleb128 0x5
	.string	"b"
	.byte	0x41
	.long	0xc3
	.byte	0
	.byte	0
	.section	.debug_abbrev,"",@progbits
.Ldebug_abbrev0:
	.uleb128 0x1
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0x21
	.sleb128 6
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x2
	.uleb128 0x5
	.byte	0
	.uleb128 0x31
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x3
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0x21
	.sleb128 8
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x4
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0xe
	.byte	0
	.byte	0
	.uleb128 0x5
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0x21
	.sleb128 2
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x6
	.uleb128 0x11
	.byte	0x1
	.uleb128 0x25
	.uleb128 0xe
	.uleb128 0x13
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x1b
	.uleb128 0xe
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x10
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x7
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x8
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x9
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.byte	0
	.byte	0
	.uleb128 0xa
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0xb
	.uleb128 0x1d
	.byte	0x1
	.uleb128 0x31
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x58
	.uleb128 0xb
	.uleb128 0x59
	.uleb128 0xb
	.uleb128 0x57
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0xc
	.uleb128 0x26
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xd
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x20
	.uleb128 0xb
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_loclists,"",@progbits
	.long	.Ldebug_loc3-.Ldebug_loc2
.Ldebug_loc2:
	.value	0x5
	.byte	0x8
	.byte	0
	.long	0
.Ldebug_loc0:
.LLST0:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL1-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL1-.Ltext0
	.uleb128 .LVL3-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0
.Ldebug_loc3:
	.section	.debug_aranges,"",@progbits
	.long	0x2c
	.value	0x2
	.long	.Ldebug_info0
	.byte	0x8
	.byte	0
	.value	0
	.value	0
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.quad	0
	.quad	0
	.section	.debug_line,"",@progbits
.Ldebug_line0:
	.section	.debug_str,"MS",@progbits,1
.LASF7:
	.string	"mean"
.LASF4:
	.string	"long unsigned int"
.LASF3:
	.string	"unsigned char"
.LASF5:
	.string	"GNU C17 12.2.0 -mtune=generic -march=x86-64 -gdwarf-5 -gno-variable-location-views -gno-as-locview-support -gno-statement-frontiers -O1 -fPIC -fno-asynchronous-unwind-tables -fcf-protection=none"
.LASF2:
	.string	"size"
.LASF6:
	.string	"blend"
	.section	.debug_str,"MS",@progbits,1
.LASF0:
	.string	"blend.c"
.LASF1:
	.string	"/srv/blend"
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
