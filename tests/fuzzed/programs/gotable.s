# Tables of a Go program with two functions at the start of its text, as Go 1.20 writes them.
    .text
    .globl _start
_start:
    .fill 32, 1, 0x90
    .section .gopclntab, "a"
    .quad 0x08010000fffffff1
    .quad 2, 1, _start, 72, 80, 84, 96, 104
    .ascii "f\0main\0\0"
    .long 0
    .ascii "main.go\0\0\0\0\0"
    .byte 0, 2, 32, 0, 16, 8, 4, 24
    .long 0, 24, 0x10, 64, 0x20, 0
    .long 0, 0, 0, 0, 0, 1, 4, 0, 0, 0
    .long 0x10, 2, 0, 0, 0, 1, 4, 0, 0, 0
