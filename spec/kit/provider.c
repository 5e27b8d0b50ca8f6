#include "sbx/provider.h"

#include <string.h>

#define BEARER "Authorization", "Bearer %s"

const struct sbx_provider sbx_providers[] = {
    { "anthropic", { "ANTHROPIC_API_KEY" }, "x-api-key", "%s",
      { "api.anthropic.com", "console.anthropic.com", "claude.ai", "mcp-proxy.anthropic.com" }, NULL, NULL },
    { "cerebras", { "CEREBRAS_API_KEY" }, BEARER, { "api.cerebras.ai" }, NULL, NULL },
    { "cohere", { "COHERE_API_KEY" }, BEARER, { "api.cohere.com" }, NULL, NULL },
    { "cursor", { "CURSOR_API_KEY" }, BEARER,
      { "api2.cursor.sh", "api3.cursor.sh", "repo42.cursor.sh", "cursor.com" }, NULL, NULL },
    { "deepseek", { "DEEPSEEK_API_KEY" }, BEARER, { "api.deepseek.com" }, NULL, NULL },
    { "droid", { "FACTORY_API_KEY" }, BEARER,
      { "api.factory.ai", "app.factory.ai", "relay.factory.ai" }, NULL, NULL },
    { "fireworks", { "FIREWORKS_API_KEY" }, BEARER, { "api.fireworks.ai" }, NULL, NULL },
    { "gemini", { "GEMINI_API_KEY" }, "x-goog-api-key", "%s",
      { "generativelanguage.googleapis.com" }, NULL, NULL },
    { "github", { "GH_TOKEN", "GITHUB_TOKEN" }, BEARER,
      { "api.github.com", "raw.githubusercontent.com", "gist.github.com", "copilot.github.com", "api.githubcopilot.com" },
      "github.com", "x-access-token" },
    { "gitlab", { "GITLAB_TOKEN" }, "PRIVATE-TOKEN", "%s", { "gitlab.com" }, NULL, NULL },
    { "google", { "GEMINI_API_KEY", "GOOGLE_API_KEY" }, "x-goog-api-key", "%s",
      { "generativelanguage.googleapis.com", "oauth2.googleapis.com", "aiplatform.googleapis.com", "vertexai.googleapis.com" }, NULL, NULL },
    { "groq", { "GROQ_API_KEY" }, BEARER, { "api.groq.com" }, NULL, NULL },
    { "huggingface", { "HF_TOKEN" }, BEARER, { "huggingface.co", "router.huggingface.co" }, NULL, NULL },
    { "minimax", { "MINIMAX_API_KEY" }, BEARER, { "api.minimax.io" }, NULL, NULL },
    { "mistral", { "MISTRAL_API_KEY" }, BEARER, { "api.mistral.ai" }, NULL, NULL },
    { "nebius", { "NEBIUS_API_KEY" }, BEARER,
      { "api.studio.nebius.com", "api.tokenfactory.nebius.com" }, NULL, NULL },
    { "npm", { "NPM_TOKEN" }, BEARER, { "registry.npmjs.org" }, NULL, NULL },
    { "openai", { "OPENAI_API_KEY" }, BEARER,
      { "api.openai.com", "openai.com", "chatgpt.com", "www.chatgpt.com" }, NULL, NULL },
    { "openrouter", { "OPENROUTER_API_KEY" }, BEARER, { "openrouter.ai" }, NULL, NULL },
    { "perplexity", { "PERPLEXITY_API_KEY" }, BEARER, { "api.perplexity.ai" }, NULL, NULL },
    { "replicate", { "REPLICATE_API_TOKEN" }, BEARER, { "api.replicate.com" }, NULL, NULL },
    { "together", { "TOGETHER_API_KEY" }, BEARER, { "api.together.xyz" }, NULL, NULL },
    { "xai", { "XAI_API_KEY" }, BEARER, { "api.x.ai" }, NULL, NULL },
    { "zai", { "ZAI_API_KEY" }, BEARER, { "api.z.ai" }, NULL, NULL },
};
const size_t sbx_n_providers = sizeof(sbx_providers) / sizeof(sbx_providers[0]);

const struct sbx_provider *sbx_provider_find(const char *name)
{
    for (size_t i = 0; name && i < sbx_n_providers; i++)
        if (!strcmp(sbx_providers[i].name, name))
            return &sbx_providers[i];
    return NULL;
}
