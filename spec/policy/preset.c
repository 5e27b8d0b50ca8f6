/*
 * The presets. `balanced` is for everyday development: hosts that serve public packages, source code,
 * container images and models, each by name and port. Grounds for a line: a tool in wide use fails
 * without it, and what it serves is public or asks for a credential of its own. No line opens whole
 * clouds (*.amazonaws.com, *.googleapis.com, *.blob.core.windows.net): anyone can rent a name there.
 * Plain HTTP (port 80) is opened only for distributions whose packages are signed.
 */
#include <string.h>

#include "sbx/policy.h"

static const char *const allow_all[] = { "**" };

static const char *const balanced[] = {
    /* model APIs */
    "api.anthropic.com:443",
    "claude.ai:443",
    "platform.claude.com:443",
    "console.anthropic.com:443",
    "statsig.anthropic.com:443",
    "api.openai.com:443",
    "auth.openai.com:443",
    "chatgpt.com:443",
    "generativelanguage.googleapis.com:443",
    "aiplatform.googleapis.com:443",
    "cloudcode-pa.googleapis.com:443",
    "oauth2.googleapis.com:443",
    "accounts.google.com:443",
    "openrouter.ai:443",
    "api.mistral.ai:443",
    "api.groq.com:443",
    "api.x.ai:443",
    "api.deepseek.com:443",
    "api.cohere.com:443",
    "api.together.xyz:443",
    "api.fireworks.ai:443",
    "models.dev:443",
    "opencode.ai:443",
    "huggingface.co:443",
    "*.huggingface.co:443",
    "*.hf.co:443",
    /* forges: HTTPS and git over ssh */
    "github.com:443",
    "github.com:22",
    "ssh.github.com:443",
    "api.github.com:443",
    "codeload.github.com:443",
    "uploads.github.com:443",
    "*.githubusercontent.com:443",
    "github.githubassets.com:443",
    "api.githubcopilot.com:443",
    "*.githubcopilot.com:443",
    "gitlab.com:443",
    "gitlab.com:22",
    "registry.gitlab.com:443",
    "bitbucket.org:443",
    "bitbucket.org:22",
    "api.bitbucket.org:443",
    "codeberg.org:443",
    "codeberg.org:22",
    "git.sr.ht:443",
    "git.sr.ht:22",
    /* container registries */
    "docker.io:443",
    "*.docker.io:443",
    "hub.docker.com:443",
    "production.cloudflare.docker.com:443",
    "download.docker.com:443",
    "ghcr.io:443",
    "quay.io:443",
    "*.quay.io:443",
    "gcr.io:443",
    "registry.k8s.io:443",
    "mcr.microsoft.com:443",
    "*.data.mcr.microsoft.com:443",
    "public.ecr.aws:443",
    "dhi.io:443",
    /* JavaScript */
    "registry.npmjs.org:443",
    "registry.yarnpkg.com:443",
    "repo.yarnpkg.com:443",
    "nodejs.org:443",
    "deno.land:443",
    "dl.deno.land:443",
    "jsr.io:443",
    "npm.jsr.io:443",
    "bun.sh:443",
    "cdn.playwright.dev:443",
    "playwright.download.prss.microsoft.com:443",
    /* Python */
    "pypi.org:443",
    "files.pythonhosted.org:443",
    "bootstrap.pypa.io:443",
    "www.python.org:443",
    "astral.sh:443",
    "*.astral.sh:443",
    "conda.anaconda.org:443",
    "repo.anaconda.com:443",
    /* Rust, Go, C, Java, .NET, Ruby, PHP, others */
    "crates.io:443",
    "index.crates.io:443",
    "static.crates.io:443",
    "static.rust-lang.org:443",
    "sh.rustup.rs:443",
    "proxy.golang.org:443",
    "sum.golang.org:443",
    "go.dev:443",
    "dl.google.com:443",
    "conan.io:443",
    "center2.conan.io:443",
    "repo.maven.apache.org:443",
    "repo1.maven.org:443",
    "plugins.gradle.org:443",
    "services.gradle.org:443",
    "downloads.gradle.org:443",
    "api.adoptium.net:443",
    "api.nuget.org:443",
    "dot.net:443",
    "builds.dotnet.microsoft.com:443",
    "rubygems.org:443",
    "index.rubygems.org:443",
    "repo.packagist.org:443",
    "packagist.org:443",
    "getcomposer.org:443",
    "hex.pm:443",
    "repo.hex.pm:443",
    "pub.dev:443",
    "cpan.metacpan.org:443",
    "cran.r-project.org:443",
    "hackage.haskell.org:443",
    "downloads.haskell.org:443",
    /* distributions; their packages are signed, so plain HTTP is fine */
    "deb.debian.org:80",
    "deb.debian.org:443",
    "security.debian.org:80",
    "security.debian.org:443",
    "archive.ubuntu.com:80",
    "archive.ubuntu.com:443",
    "*.archive.ubuntu.com:80",
    "security.ubuntu.com:80",
    "security.ubuntu.com:443",
    "ports.ubuntu.com:80",
    "ports.ubuntu.com:443",
    "ppa.launchpadcontent.net:443",
    "keyserver.ubuntu.com:443",
    "dl-cdn.alpinelinux.org:80",
    "dl-cdn.alpinelinux.org:443",
    "mirrors.fedoraproject.org:443",
    "dl.fedoraproject.org:443",
    "cache.nixos.org:443",
    "channels.nixos.org:443",
    "formulae.brew.sh:443",
    /* package repositories of tools that development images come with */
    "deb.nodesource.com:443",
    "cli.github.com:443",
    "apt.llvm.org:443",
    "packages.microsoft.com:443",
    "apt.postgresql.org:443",
    "releases.hashicorp.com:443",
    "registry.terraform.io:443",
    "dl.k8s.io:443",
    "get.helm.sh:443",
    "mise.run:443",
    "mise.jdx.dev:443",
    /* editors' extensions */
    "open-vsx.org:443",
    "openvsx.eclipsecontent.org:443",
    "marketplace.visualstudio.com:443",
    "update.code.visualstudio.com:443",
    "vscode.download.prss.microsoft.com:443",
    /* schemas that editors and linters fetch */
    "json.schemastore.org:443",
    "www.schemastore.org:443",
};

static const struct {
    const char *name;
    const char *const *patterns;
    size_t n;
} presets[] = {
    { "allow-all", allow_all, SBX_ARRAY_LEN(allow_all) },
    { "balanced", balanced, SBX_ARRAY_LEN(balanced) },
    { "deny-all", allow_all, 0 },
};

const char *const *sbx_policy_preset(const char *name, size_t *n)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(presets); i++) {
        if (strcmp(presets[i].name, name))
            continue;
        *n = presets[i].n;
        return presets[i].patterns;
    }
    return NULL;
}
