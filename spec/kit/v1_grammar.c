/*
 * The grammar of schemaVersion "1": one table per block. It is frozen: nothing is added here, and no
 * row is shared with version 2. Source: kit specification "v1 migration".
 */
#include <string.h>

#include "rows.h"
#include "v1.h"

static const struct sbx_field build_fields[] = {
    STRING(sbx_build, context, "context", .doc = "Build context, relative to the spec."),
    STRING(sbx_build, dockerfile, "dockerfile", .doc = "Dockerfile, relative to the context."),
    PAIRS(sbx_build, args, "args", .doc = "Build arguments."),
    STRING(sbx_build, target, "target", .doc = "Build stage."),
    STRINGS(sbx_build, platforms, "platforms", .doc = "Platforms."),
};
static const struct sbx_block build_block = {
    "sandbox.build", sizeof(struct sbx_build), offsetof(struct sbx_build, at), -1, FIELDS(build_fields), NULL
};

static const struct sbx_field resources_fields[] = {
    { .key = "cpu", .type = SBX_FIELD_FLOAT, .offset = AT(sbx_resources, cpu, double),
      SET(sbx_resources, cpu_set), .doc = "CPU cores; not negative." },
    CUSTOM(sbx_resources, memory, "memoryMB", sbx_v1_custom_memory, .as = SBX_FIELD_INT, .other = SBX_FIELD_INT,
           .want = "a whole number",
           .doc = "Memory in MiB."),
    STRING(sbx_resources, gpu, "gpu", .doc = "GPU selector."),
};
static const struct sbx_block resources_block = {
    "sandbox.resources", sizeof(struct sbx_resources), offsetof(struct sbx_resources, at), -1,
    FIELDS(resources_fields), NULL
};

static const struct sbx_field entrypoint_fields[] = {
    STRINGS(sbx_v1_entrypoint, run, "run", .doc = "Binary and its always-on arguments."),
    STRINGS(sbx_v1_entrypoint, args, "args", .doc = "Arguments of a run without a terminal."),
    STRINGS(sbx_v1_entrypoint, tty_args, "ttyArgs", .doc = "Arguments of a run with a terminal."),
    STRING(sbx_v1_entrypoint, pipe_mode, "pipeMode", .doc = "Has no effect."),
};
static const struct sbx_block entrypoint_block = {
    "sandbox.entrypoint", sizeof(struct sbx_v1_entrypoint), -1, -1, FIELDS(entrypoint_fields), NULL
};

static const struct sbx_field sandbox_fields[] = {
    STRING(sbx_v1_sandbox, image, "image", .doc = "Image that the sandbox starts from."),
    BLOCK(sbx_v1_sandbox, build, "build", build_block, SET(sbx_v1_sandbox, build.set),
          .doc = "Build of the image; needs image too."),
    BLOCK(sbx_v1_sandbox, entrypoint, "entrypoint", entrypoint_block,
          SET(sbx_v1_sandbox, entrypoint.set), .want = "a mapping with run, args, ttyArgs",
          .doc = "How the agent is started."),
    STRING(sbx_v1_sandbox, ai_filename, "aiFilename", .doc = "The agent's own instruction file."),
    BLOCK(sbx_v1_sandbox, resources, "resources", resources_block,
          SET(sbx_v1_sandbox, resources.set), .doc = "Limits of the container."),
    STRING(sbx_v1_sandbox, persistence, "persistence", .doc = "Has no effect; declare volumes."),
};
static const struct sbx_block sandbox_block = {
    "sandbox", sizeof(struct sbx_v1_sandbox), offsetof(struct sbx_v1_sandbox, at), -1,
    FIELDS(sandbox_fields), NULL
};

static const struct sbx_field file_fields[] = {
    STRING(sbx_v1_source, file_path, "path", .doc = "File on the host."),
    STRING(sbx_v1_source, file_parser, "parser", .doc = "How its value is found: raw, json:KEY."),
};
static const struct sbx_block file_block = {
    "credentials.sources.*.file", 0, -1, -1, FIELDS(file_fields), NULL
};
static const struct sbx_field source_fields[] = {
    STRINGS(sbx_v1_source, env, "env", .doc = "Variables of the host; the first names the agent's."),
    INNER("file", file_block, SET(sbx_v1_source, file_set), .doc = "A file of the host."),
    STRING(sbx_v1_source, priority, "priority", .doc = "env-first or file-first."),
    BOOL(sbx_v1_source, required, "required", .doc = "Refuse to start without it."),
};
static const struct sbx_block source_block = {
    "credentials.sources.*", sizeof(struct sbx_v1_source), offsetof(struct sbx_v1_source, at),
    offsetof(struct sbx_v1_source, name), FIELDS(source_fields), NULL
};
static const struct sbx_field sources_fields[] = {
    { .key = "sources", .type = SBX_FIELD_NAMED, .offset = offsetof(struct sbx_v1, sources),
      .block = &source_block, .doc = "Where each service's credential is found." },
};
const struct sbx_block sbx_v1_sources_block = { "credentials", 0, -1, -1, FIELDS(sources_fields), NULL };

static const struct sbx_field inject_fields[] = {
    STRING(sbx_inject, domain, "domain", .doc = "Host whose requests get the credential."),
    STRING(sbx_inject, header, "header", .doc = "Header to set."),
    STRING(sbx_inject, format, "format", .doc = "Its value; %s is the credential."),
    STRING(sbx_inject, username, "username", .doc = "User name of HTTP Basic."),
    STRING(sbx_inject, scheme, "scheme", .doc = "bearer or basic, instead of format."),
};
static const struct sbx_block inject_block = {
    "credentials[].apiKey.inject[]", sizeof(struct sbx_inject), offsetof(struct sbx_inject, at), -1,
    FIELDS(inject_fields), sbx_finish_inject
};
static const struct sbx_field api_key_fields[] = {
    STRING(sbx_api_key, name, "name", .doc = "Environment variable of the agent."),
    BOOL(sbx_api_key, proxy_managed, "proxyManaged", .doc = "Set the variable to a sentinel."),
    LIST(sbx_api_key, inject, "inject", inject_block, .doc = "Where the credential goes."),
};
static const struct sbx_block api_key_block = {
    "credentials[].apiKey", sizeof(struct sbx_api_key), offsetof(struct sbx_api_key, at), -1,
    FIELDS(api_key_fields), NULL
};

static const struct sbx_field endpoint_fields[] = {
    STRING(sbx_oauth, token_host, "host", .doc = "Host of the token endpoint."),
    STRING(sbx_oauth, token_path, "path", .doc = "Its path."),
};
static const struct sbx_block endpoint_block = {
    "oauth.tokenEndpoint", 0, -1, -1, FIELDS(endpoint_fields), NULL
};
static const struct sbx_field sentinel_fields[] = {
    STRING(sbx_oauth, sentinel_access, "accessToken", .doc = "Stand-in for the access token."),
    STRING(sbx_oauth, sentinel_refresh, "refreshToken", .doc = "Stand-in for the refresh token."),
};
static const struct sbx_block sentinel_block = {
    "oauth.sentinels", 0, -1, -1, FIELDS(sentinel_fields), NULL
};
static const struct sbx_field token_file_fields[] = {
    STRING(sbx_oauth, file_path, "path", .doc = "File that the agent reads its tokens from."),
    STRING(sbx_oauth, file_template, "template", .doc = "Its text."),
    CUSTOM(sbx_oauth, file_structure, "structure", sbx_custom_structure, .want = "a mapping",
           .as = SBX_FIELD_JSON, .other = SBX_FIELD_JSON,
           .doc = "Its JSON."),
};
static const struct sbx_block token_file_block = {
    "oauth.credentialFile", 0, -1, -1, FIELDS(token_file_fields), NULL
};
static const struct sbx_field response_fields[] = {
    STRING(sbx_oauth, field_access, "accessToken", .doc = "Key of the access token."),
    STRING(sbx_oauth, field_refresh, "refreshToken", .doc = "Key of the refresh token."),
    STRING(sbx_oauth, field_expires, "expiresIn", .doc = "Key of the life time."),
    STRING(sbx_oauth, field_scope, "scope", .doc = "Key of the scope."),
};
static const struct sbx_block response_block = {
    "oauth.responseFields", 0, -1, -1, FIELDS(response_fields), NULL
};
static const struct sbx_field oauth_fields[] = { /* of one credential in a list */
    INNER("tokenEndpoint", endpoint_block, .doc = "Where tokens come from."),
    STRINGS(sbx_oauth, resource_hosts, "resourceHosts", .doc = "Hosts that take the access token."),
    INNER("sentinels", sentinel_block, SET(sbx_oauth, sentinels_set), .doc = "What the agent sees."),
    INNER("credentialFile", token_file_block, SET(sbx_oauth, file_set), .doc = "The agent's token file."),
    STRINGS(sbx_oauth, skip_if_env, "skipIfEnv", .doc = "No OAuth if one of these is set on the host."),
    INNER("responseFields", response_block, SET(sbx_oauth, fields_set), .doc = "Keys of the response."),
    BOOL(sbx_oauth, passthrough, "passthrough", .doc = "Let the agent see the real tokens."),
};
static const struct sbx_block oauth_block = {
    "credentials[].oauth", sizeof(struct sbx_oauth), offsetof(struct sbx_oauth, at), -1,
    FIELDS(oauth_fields), NULL
};
static const struct sbx_field credential_fields[] = {
    STRING(sbx_credential, service, "service", .doc = "Identity of the service."),
    STRING(sbx_credential, description, "description", .doc = "Shown in prompts."),
    BOOL(sbx_credential, required, "required", .doc = "Refuse to start without it."),
    STRING(sbx_credential, provider, "provider", .doc = "Entry of the provider registry."),
    BLOCK(sbx_credential, api_key, "apiKey", api_key_block, SET(sbx_credential, api_key.set),
          .doc = "A key that the gate puts into requests."),
    BLOCK(sbx_credential, oauth, "oauth", oauth_block, SET(sbx_credential, oauth.set), .doc = "A log-in by OAuth."),
};
const struct sbx_block sbx_v1_credential_block = {
    "credentials[]", sizeof(struct sbx_credential), offsetof(struct sbx_credential, at), -1,
    FIELDS(credential_fields), NULL
};

static const struct sbx_field standalone_fields[] = { /* the block of its own, for one service */
    STRING(sbx_v1_oauth, service, "service", .doc = "Identity of the service."),
    INNER("tokenEndpoint", endpoint_block, .doc = "Where tokens come from."),
    INNER("sentinels", sentinel_block, SET(sbx_v1_oauth, oauth.sentinels_set), .doc = "What the agent sees."),
    INNER("credentialFile", token_file_block, SET(sbx_v1_oauth, oauth.file_set),
          .doc = "The agent's token file."),
    STRINGS(sbx_v1_oauth, oauth.skip_if_env, "skipIfEnv",
            .doc = "No OAuth if one of these is set on the host."),
    INNER("responseFields", response_block, SET(sbx_v1_oauth, oauth.fields_set),
          .doc = "Keys of the response."),
    BOOL(sbx_v1_oauth, oauth.passthrough, "passthroughResponse",
         .doc = "Let the agent see the real tokens."),
};
static const struct sbx_block standalone_block = {
    "oauth", sizeof(struct sbx_v1_oauth), offsetof(struct sbx_v1_oauth, oauth.at), -1,
    FIELDS(standalone_fields), NULL
};

static const struct sbx_field auth_fields[] = {
    STRING(sbx_v1_auth, header, "headerName", .doc = "Header to set."),
    STRING(sbx_v1_auth, format, "valueFormat", .doc = "Its value; %s is the credential."),
};
static const struct sbx_block auth_block = {
    "network.serviceAuth.*", sizeof(struct sbx_v1_auth), offsetof(struct sbx_v1_auth, at),
    offsetof(struct sbx_v1_auth, name), FIELDS(auth_fields), NULL
};

static const struct sbx_field port_fields[] = {
    INT(sbx_port, container, "container", .doc = "Port inside, 1 to 65535."),
    STRING(sbx_port, protocol, "protocol", .doc = "tcp (default) or udp."),
    STRING(sbx_port, name, "name", .doc = "Label."),
};
static const struct sbx_block port_block = {
    "publishedPorts[]", sizeof(struct sbx_port), offsetof(struct sbx_port, at), -1, FIELDS(port_fields), NULL
};

static const struct sbx_field network_fields[] = {
    PAIRS(sbx_v1, service_domains, "serviceDomains", .doc = "Host to service."),
    { .key = "serviceAuth", .type = SBX_FIELD_NAMED, .offset = offsetof(struct sbx_v1, service_auth),
      .block = &auth_block, .doc = "Header of each service." },
    STRINGS(sbx_v1, allowed, "allowedDomains", .doc = "Hosts that the sandbox may reach."),
    STRINGS(sbx_v1, denied, "deniedDomains", .doc = "Hosts it may not; deny wins."),
    LIST(sbx_v1, network_ports, "publishedPorts", port_block, .want = "a list of {container, protocol, name}",
         .doc = "Ports to publish on the host."),
};
static const struct sbx_block network_block = { "network", 0, -1, -1, FIELDS(network_fields), NULL };

static const struct sbx_field caps_network_fields[] = {
    STRINGS(sbx_v1, a.allow, "allow", .doc = "Hosts that the sandbox may reach."),
    STRINGS(sbx_v1, a.deny, "deny", .doc = "Hosts it may not; deny wins."),
};
static const struct sbx_block caps_network_block = {
    "caps.network", 0, -1, -1, FIELDS(caps_network_fields), NULL
};
static const struct sbx_field caps_fields[] = {
    INNER("network", caps_network_block, SET(sbx_v1, a.caps_set), .doc = "Egress rules."),
};
static const struct sbx_block caps_block = { "caps", 0, -1, -1, FIELDS(caps_fields), NULL };

static const struct sbx_field requires_fields[] = {
    STRING(sbx_v1, a.requires_agent, "agent", .doc = "The one base agent that the mixin is for."),
};
static const struct sbx_block requires_block = { "requires", 0, -1, -1, FIELDS(requires_fields), NULL };

static const struct sbx_field security_fields[] = {
    BOOL(sbx_v1, a.privileged, "privileged", .doc = "Run the container privileged."),
};
static const struct sbx_block security_block = { "security", 0, -1, -1, FIELDS(security_fields), NULL };

static const struct sbx_field environment_fields[] = {
    PAIRS(sbx_v1, a.variables, "variables", .doc = "Environment variables."),
    STRINGS(sbx_v1, proxy_managed, "proxyManaged", .doc = "Variables that get a sentinel."),
};
static const struct sbx_block environment_block = {
    "environment", 0, -1, -1, FIELDS(environment_fields), NULL
};

static const struct sbx_field settings_fields[] = {
    CUSTOM(sbx_v1, settings_given, "containerSettings", sbx_v1_custom_anything, .want = "a mapping",
           .as = SBX_FIELD_JSON, .other = SBX_FIELD_JSON,
           .doc = "Has no effect."),
};
static const struct sbx_block settings_block = { "settings", 0, -1, -1, FIELDS(settings_fields), NULL };

static const struct sbx_field volume_fields[] = {
    STRING(sbx_volume, path, "path", .doc = "Absolute path inside."),
    STRING(sbx_volume, type, "type", .doc = "\"\" for a volume, or tmpfs."),
    STRING(sbx_volume, size, "size", .doc = "Byte size such as \"10g\"."),
    STRING(sbx_volume, mode, "mode", .doc = "Octal permissions."),
};
const struct sbx_block sbx_v1_volume_block = {
    "volumes[]", sizeof(struct sbx_volume), offsetof(struct sbx_volume, at), -1, FIELDS(volume_fields), NULL
};

static const struct sbx_field install_fields[] = {
    STRING(sbx_install, command, "command", .doc = "Text for sh -c."),
    STRING(sbx_install, user, "user", .doc = "User (default \"0\")."),
    STRING(sbx_install, description, "description", .doc = "Shown while it runs."),
};
static const struct sbx_block install_block = {
    "commands.install[]", sizeof(struct sbx_install), offsetof(struct sbx_install, at), -1,
    FIELDS(install_fields), NULL
};
static const struct sbx_field startup_fields[] = {
    STRINGS(sbx_startup, command, "command", .doc = "Argument list."),
    STRING(sbx_startup, user, "user", .doc = "User (default \"1000\")."),
    BOOL(sbx_startup, background, "background", .doc = "Do not wait for it."),
    STRING(sbx_startup, description, "description", .doc = "Shown when it runs."),
};
static const struct sbx_block startup_block = {
    "commands.startup[]", sizeof(struct sbx_startup), offsetof(struct sbx_startup, at), -1,
    FIELDS(startup_fields), NULL
};
static const struct sbx_field init_file_fields[] = {
    STRING(sbx_setup_file, path, "path", .doc = "Absolute path."),
    STRING(sbx_setup_file, content, "content", .doc = "Text; ${WORKDIR} is filled in."),
    STRING(sbx_setup_file, mode, "mode", .doc = "Octal permissions (default \"0644\")."),
    BOOL(sbx_setup_file, only_if_missing, "onlyIfMissing", .doc = "Leave an existing file alone."),
    STRING(sbx_setup_file, description, "description", .doc = "What it is for."),
};
static const struct sbx_block init_file_block = {
    "commands.initFiles[]", sizeof(struct sbx_setup_file), offsetof(struct sbx_setup_file, at), -1,
    FIELDS(init_file_fields), NULL
};
static const struct sbx_field commands_fields[] = {
    LIST(sbx_v1, a.install, "install", install_block, .want = "a list of {command: string}",
         .doc = "Commands of the creation, in order."),
    LIST(sbx_v1, a.startup, "startup", startup_block, .want = "a list of {command: list of strings}",
         .doc = "Commands of every start."),
    LIST(sbx_v1, a.setup_files, "initFiles", init_file_block, .want = "a list of {path, content}",
         .doc = "Files written at every start."),
};
static const struct sbx_block commands_block = { "commands", 0, -1, -1, FIELDS(commands_fields), NULL };

/* Once at the top level; every version of the reference since then refuses them. */
#define FLAT(k, instead) CUSTOM(sbx_v1, a, k, sbx_v1_custom_flat, .as = SBX_FIELD_IGNORED, .doc = instead)

static const struct sbx_field root_fields[] = {
    CUSTOM(sbx_v1, a.schema_version, "schemaVersion", sbx_custom_version, .doc = "Always \"1\"."),
    STRING(sbx_v1, a.kind, "kind", .words = sbx_words_old_kind, .doc = "sandbox (once agent) or mixin."),
    STRING(sbx_v1, a.name, "name", .doc = "Name of the kit: a-z, 0-9, \"-\"; 1 to 64."),
    STRING(sbx_v1, a.version, "version", .doc = "Version of the kit."),
    STRING(sbx_v1, a.display_name, "displayName", .doc = "Name for people."),
    STRING(sbx_v1, a.description, "description", .doc = "What the kit does."),
    STRING(sbx_v1, a.source_url, "sourceURL", .doc = "Where its source is."),
    FLAT("template", "sandbox.image"),
    FLAT("binary", "sandbox.entrypoint.run"),
    FLAT("runOptions", "sandbox.entrypoint.args"),
    FLAT("aiFilename", "sandbox.aiFilename"),
    STRINGS(sbx_v1, a.interactive_options, "interactiveOptions", .doc = "Arguments with a terminal."),
    BLOCK(sbx_v1, a.build, "build", build_block, SET(sbx_v1, a.build.set), .doc = "Build of the image."),
    BLOCK(sbx_v1, a.resources, "resources", resources_block, SET(sbx_v1, a.resources.set),
          .doc = "Limits of the container."),
    INNER("security", security_block, SET(sbx_v1, a.security_set), .doc = "Container privileges."),
    CUSTOM(sbx_v1, volumes, "volumes", sbx_v1_custom_volumes, .block = &sbx_v1_volume_block,
           .as = SBX_FIELD_LIST, .other = SBX_FIELD_PAIRS,
           .want = "a list of {path, type, size, mode}", .doc = "Volumes and tmpfs mounts."),
    PAIRS(sbx_v1, tmpfs, "tmpfs", .doc = "Path to size of tmpfs mounts."),
    CUSTOM(sbx_v1, a.extends, "extends", sbx_custom_extends, .want = "a string",
           .doc = "The parent of a sandbox kit; the agent that a mixin is for."),
    STRINGS(sbx_v1, a.mixins, "mixins", .doc = "Mixins of a sandbox kit."),
    INNER("requires", requires_block, SET(sbx_v1, a.requires_set), .doc = "What a mixin needs."),
    STRINGS(sbx_v1, a.locked, "locked", .doc = "Paths that children may not change."),
    STRINGS(sbx_v1, a.licenses, "licenses", .doc = "SPDX identifiers."),
    BLOCK(sbx_v1, sandbox, "sandbox", sandbox_block, SET(sbx_v1, sandbox.set),
          .doc = "The image and the agent."),
    BLOCK(sbx_v1, agent, "agent", sandbox_block, SET(sbx_v1, agent.set),
          .doc = "Older name of sandbox."),
    STRINGS(sbx_v1, secrets, "secrets", .doc = "Variables of required credentials."),
    PAIRS(sbx_v1, egress, "egress", .doc = "Host to service."),
    CUSTOM(sbx_v1, sources, "credentials", sbx_v1_custom_credentials, .block = &sbx_v1_sources_block,
           .as = SBX_FIELD_BLOCK, .other = SBX_FIELD_LIST, .other_block = &sbx_v1_credential_block,
           .want = "a mapping with sources, or a list of {service, apiKey, oauth}",
           .doc = "Credentials that the kit uses."),
    LIST(sbx_v1, a.ports, "publishedPorts", port_block, .want = "a list of {container, protocol, name}",
         .doc = "Ports to publish on the host."),
    INNER("network", network_block, .doc = "Egress, services and ports."),
    INNER("caps", caps_block, SET(sbx_v1, caps_given), .doc = "What the sandbox may do."),
    INNER("environment", environment_block, SET(sbx_v1, a.environment_set), .doc = "The environment."),
    INNER("settings", settings_block, SET(sbx_v1, settings_given), .doc = "Has no effect."),
    INNER("commands", commands_block, .doc = "Commands and files."),
    BLOCK(sbx_v1, oauth, "oauth", standalone_block, SET(sbx_v1, oauth.oauth.set),
          .doc = "OAuth of one service."),
    CUSTOM(sbx_v1, a.agent_context, "agentContext", sbx_custom_context, .want = "a string",
           .doc = "Markdown for the agent."),
    STRING(sbx_v1, memory, "memory", .doc = "Older name of agentContext."),
    STRING(sbx_v1, persistence, "persistence", .doc = "Has no effect; declare volumes."),
    STRING(sbx_v1, kit_dir, "kitDir", .doc = "Has no effect."),
};
const struct sbx_block sbx_kit_v1 = {
    "", sizeof(struct sbx_v1), offsetof(struct sbx_v1, a.at), -1, FIELDS(root_fields), NULL
};
