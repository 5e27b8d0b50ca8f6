#include "sbx/plan.h"

const char *sbx_phase_name(enum sbx_phase phase)
{
    static const char *const names[SBX_PHASE_COUNT] = {
        [SBX_PHASE_IMAGE] = "image",
        [SBX_PHASE_CONTAINER] = "container",
        [SBX_PHASE_NETWORK] = "network",
        [SBX_PHASE_DEFAULTS] = "defaults",
        [SBX_PHASE_HOME] = "home",
        [SBX_PHASE_INSTALL] = "install",
        [SBX_PHASE_HOME_AGAIN] = "home-again",
        [SBX_PHASE_SETUP_FILES] = "setup-files",
        [SBX_PHASE_STARTUP] = "startup",
        [SBX_PHASE_WORKSPACE_FILES] = "workspace-files",
        [SBX_PHASE_INSTRUCTIONS] = "instructions",
    };

    return (unsigned)phase < SBX_PHASE_COUNT ? names[phase] : "unknown";
}
