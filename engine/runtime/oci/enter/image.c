/* The program of enter.c as bytes of ours: no file to look for, none that could be replaced. */
#include "image.h"

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl sbx_enter_image\n"
        ".globl sbx_enter_image_end\n"
        "sbx_enter_image:\n"
        ".incbin \"" SBX_ENTER_PROGRAM "\"\n"
        "sbx_enter_image_end:\n"
        ".byte 0\n"
        ".previous\n");
