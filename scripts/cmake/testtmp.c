/* Linked into every test program: its temporaries lie below one folder of the build (SBX_TEST_TMP), which exists
 * before main(), and so do those of what it starts. The next run empties what a killed test left (testtmp.sh). */
#include <stdlib.h>
#include <sys/stat.h>

__attribute__((constructor)) static void test_tmp(void)
{
    if (!mkdir(SBX_TEST_TMP, 0700))
        chmod(SBX_TEST_TMP, 01777); /* agents and gates of other ids write there, as in /tmp */
    setenv("TMPDIR", SBX_TEST_TMP, 1);
}
