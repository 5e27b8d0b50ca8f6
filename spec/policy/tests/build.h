/* A policy from lines of text, for the tests of verdicts. */
#ifndef SBX_POLICY_TESTS_BUILD_H
#define SBX_POLICY_TESTS_BUILD_H

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "sbx/policy.h"

#define RULES 6

/* Rules in one line: "+pattern" allows, "-pattern" denies; behind "k" a kit's, "K" a consented kit's. */
static inline void build(const char *const *lines, struct sbx_policy **ret)
{
    struct sbx_rule rules[RULES];
    size_t n = 0;

    for (; n < RULES && lines[n]; n++) {
        const char *s = lines[n];
        bool kit = *s == 'k' || *s == 'K';
        struct sbx_err err = SBX_ERR_INIT;

        if (sbx_rule_init(&rules[n], s[kit] == '+' ? SBX_ALLOW : SBX_DENY,
                          kit ? SBX_RULE_KIT : SBX_RULE_USER, s + kit + 1, s, kit ? "kit k" : "user",
                          &err))
            fail_msg("%s", err.text);
        rules[n].consented = *s == 'K';
    }
    assert_int_equal(sbx_policy_new(rules, n, ret, NULL), SBX_OK);
}

#endif
