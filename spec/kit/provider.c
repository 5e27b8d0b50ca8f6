#include "sbx/provider.h"

#include <string.h>

#define BEARER "Authorization", "Bearer %s"

const struct sbx_provider sbx_providers[] = {
    { "anthropic", "ANTHROPIC_API_KEY", "x-api-key", "%s", { "api.anthropic.com" } },
    { "cerebras", "CEREBRAS_API_KEY", BEARER, { "api.cerebras.ai" } },
    { "cohere", "COHERE_API_KEY", BEARER, { "api.cohere.com" } },
    { "deepseek", "DEEPSEEK_API_KEY", BEARER, { "api.deepseek.com" } },
    { "fireworks", "FIREWORKS_API_KEY", BEARER, { "api.fireworks.ai" } },
    { "gemini", "GEMINI_API_KEY", "x-goog-api-key", "%s", { "generativelanguage.googleapis.com" } },
    { "github", "GITHUB_TOKEN", BEARER, { "api.github.com" } },
    { "gitlab", "GITLAB_TOKEN", "PRIVATE-TOKEN", "%s", { "gitlab.com" } },
    { "google", "GOOGLE_API_KEY", "x-goog-api-key", "%s", { "generativelanguage.googleapis.com" } },
    { "groq", "GROQ_API_KEY", BEARER, { "api.groq.com" } },
    { "huggingface", "HF_TOKEN", BEARER, { "huggingface.co", "router.huggingface.co" } },
    { "minimax", "MINIMAX_API_KEY", BEARER, { "api.minimax.io" } },
    { "mistral", "MISTRAL_API_KEY", BEARER, { "api.mistral.ai" } },
    { "nebius", "NEBIUS_API_KEY", BEARER, { "api.studio.nebius.com" } },
    { "npm", "NPM_TOKEN", BEARER, { "registry.npmjs.org" } },
    { "openai", "OPENAI_API_KEY", BEARER, { "api.openai.com" } },
    { "openrouter", "OPENROUTER_API_KEY", BEARER, { "openrouter.ai" } },
    { "perplexity", "PERPLEXITY_API_KEY", BEARER, { "api.perplexity.ai" } },
    { "replicate", "REPLICATE_API_TOKEN", BEARER, { "api.replicate.com" } },
    { "together", "TOGETHER_API_KEY", BEARER, { "api.together.xyz" } },
    { "xai", "XAI_API_KEY", BEARER, { "api.x.ai" } },
    { "zai", "ZAI_API_KEY", BEARER, { "api.z.ai" } },
};
const size_t sbx_n_providers = sizeof(sbx_providers) / sizeof(sbx_providers[0]);

const struct sbx_provider *sbx_provider_find(const char *name)
{
    for (size_t i = 0; name && i < sbx_n_providers; i++)
        if (!strcmp(sbx_providers[i].name, name))
            return &sbx_providers[i];
    return NULL;
}
