/*
 * The grammar of schemaVersion "2": one table per block. Source: kit specification "spec anatomy",
 * decisions S8, S14, S15, S27.
 */
#include <string.h>

#include "rows.h"

static const struct sbx_field build_fields[] = {
    STRING(sbx_build, context, "context", .doc = "Build context, relative to the spec (default \".\")."),
    STRING(sbx_build, dockerfile, "dockerfile", .doc = "Dockerfile, relative to the context."),
    PAIRS(sbx_build, args, "args", .doc = "Build arguments."),
    STRING(sbx_build, target, "target", .doc = "Build stage."),
    STRINGS(sbx_build, platforms, "platforms", .doc = "Platforms (default linux/amd64, linux/arm64)."),
};
static const struct sbx_block build_block = {
    "sandbox.build", sizeof(struct sbx_build), offsetof(struct sbx_build, at), -1, FIELDS(build_fields), NULL
};

static const struct sbx_field resources_fields[] = {
    { .key = "cpu", .type = SBX_FIELD_FLOAT, .offset = AT(sbx_resources, cpu, double),
      SET(sbx_resources, cpu_set), .doc = "CPU cores; not negative." },
    STRING(sbx_resources, memory, "memory", .doc = "Byte size such as \"8g\" or \"512m\"."),
    STRING(sbx_resources, gpu, "gpu", .doc = "GPU selector."),
};
static const struct sbx_block resources_block = {
    "sandbox.resources", sizeof(struct sbx_resources), offsetof(struct sbx_resources, at), -1,
    FIELDS(resources_fields), sbx_finish_resources
};

static const struct sbx_field command_fields[] = {
    STRINGS(sbx_launch, noninteractive, "default", .keep = true, .doc = "Arguments of a run without a terminal."),
    STRINGS(sbx_launch, interactive, "interactive", .keep = true, .doc = "Arguments of a run with a terminal."),
};
const struct sbx_block sbx_command_block = {
    "sandbox.command", sizeof(struct sbx_launch), -1, -1, FIELDS(command_fields), NULL
};

static const struct sbx_field sandbox_fields[] = {
    STRING(sbx_artifact, image, "image", .doc = "Image that the sandbox starts from."),
    BLOCK(sbx_artifact, build, "build", build_block, SET(sbx_artifact, build.set), .keep = true,
          .doc = "Build of the image; needs image too."),
    STRINGS(sbx_artifact, launch.entrypoint, "entrypoint",
            .old = "a mapping is of version 1: run is sandbox.entrypoint here, args is sandbox.command.default, "
                   "ttyArgs is sandbox.command.interactive", .doc = "Binary and its always-on arguments."),
    CUSTOM(sbx_artifact, launch, "command", sbx_custom_command, .block = &sbx_command_block,
           .want = "a list of strings, or a mapping with default and interactive", .as = SBX_FIELD_BLOCK, .other = SBX_FIELD_STRINGS,
           .doc = "Arguments behind the entrypoint."),
    BLOCK(sbx_artifact, resources, "resources", resources_block, SET(sbx_artifact, resources.set), .keep = true,
          .doc = "Limits of the container."),
};
static const struct sbx_block sandbox_block = { "sandbox", 0, -1, -1, FIELDS(sandbox_fields), NULL };

static const struct sbx_field instructions_fields[] = {
    STRING(sbx_artifact, ai_filename, "filename", .doc = "The agent's own instruction file (sandbox kits)."),
    CUSTOM(sbx_artifact, agent_context, "content", sbx_custom_context, .want = "a string",
           .doc = "Markdown for the agent."),
};
static const struct sbx_block instructions_block = {
    "agentInstructions", 0, -1, -1, FIELDS(instructions_fields), NULL
};

static const struct sbx_field network_fields[] = {
    STRINGS(sbx_artifact, allow, "allow", .check = sbx_check_pattern,
            .doc = "Hosts that the sandbox may reach: host, host:port, *.host, **.host, CIDR."),
    STRINGS(sbx_artifact, deny, "deny", .check = sbx_check_pattern, .doc = "Hosts it may not; deny wins."),
};
static const struct sbx_block network_block = {
    "permissions.network", 0, -1, -1, FIELDS(network_fields), NULL
};
static const struct sbx_field permissions_fields[] = {
    INNER("network", network_block, SET(sbx_artifact, caps_set), .doc = "Egress rules."),
};
static const struct sbx_block permissions_block = {
    "permissions", 0, -1, -1, FIELDS(permissions_fields), NULL
};

static const struct sbx_field requires_fields[] = {
    STRING(sbx_artifact, requires_agent, "agent", .check = sbx_check_name,
           .doc = "The one base agent that the mixin is for."),
};
static const struct sbx_block requires_block = { "requires", 0, -1, -1, FIELDS(requires_fields), NULL };

static const struct sbx_field security_fields[] = {
    BOOL(sbx_artifact, privileged, "privileged", .doc = "Run the container privileged."),
};
static const struct sbx_block security_block = { "security", 0, -1, -1, FIELDS(security_fields), NULL };

static const struct sbx_field volume_fields[] = {
    STRING(sbx_volume, path, "path", .required = true, .check = sbx_check_absolute, .always = true, .doc = "Absolute path inside."),
    STRING(sbx_volume, type, "type", .check = sbx_check_volume_type, .words = sbx_words_volume, .doc = "\"\" for a volume, or tmpfs."),
    STRING(sbx_volume, size, "size", .check = sbx_check_size, .doc = "Byte size such as \"10g\"."),
    STRING(sbx_volume, mode, "mode", .check = sbx_check_mode, .doc = "Octal permissions."),
};
static const struct sbx_block volume_block = {
    "volumes[]", sizeof(struct sbx_volume), offsetof(struct sbx_volume, at), -1, FIELDS(volume_fields), NULL
};

static const struct sbx_field port_fields[] = {
    INT(sbx_port, container, "container", .required = true, .always = true, .doc = "Port inside, 1 to 65535."),
    STRING(sbx_port, protocol, "protocol", .check = sbx_check_protocol, .words = sbx_words_protocol, .doc = "tcp (default) or udp."),
    STRING(sbx_port, name, "name", .doc = "Label."),
};
static const struct sbx_block port_block = {
    "ports[]", sizeof(struct sbx_port), offsetof(struct sbx_port, at), -1, FIELDS(port_fields), NULL
};

static const struct sbx_field inject_fields[] = {
    STRING(sbx_inject, domain, "domain", .required = true, .always = true, .doc = "Host whose requests get the credential."),
    STRING(sbx_inject, header, "header", .always = true, .doc = "Header to set."),
    STRING(sbx_inject, format, "format", .check = sbx_check_format, .always = true, .doc = "Its value; %s is the credential."),
    STRING(sbx_inject, username, "username", .doc = "User name of HTTP Basic."),
    STRING(sbx_inject, scheme, "scheme", .sugar = true, .words = sbx_words_scheme, .doc = "bearer or basic, instead of format."),
};
static const struct sbx_block inject_block = {
    "credentials[].apiKey.inject[]", sizeof(struct sbx_inject), offsetof(struct sbx_inject, at), -1,
    FIELDS(inject_fields), sbx_finish_inject
};

static const struct sbx_field api_key_fields[] = {
    STRING(sbx_api_key, name, "name", .always = true, .doc = "Environment variable of the agent."),
    BOOL(sbx_api_key, proxy_managed, "proxyManaged", .doc = "Set the variable to a sentinel."),
    LIST(sbx_api_key, inject, "inject", inject_block, .doc = "Where the credential goes."),
};
static const struct sbx_block api_key_block = {
    "credentials[].apiKey", sizeof(struct sbx_api_key), offsetof(struct sbx_api_key, at), -1,
    FIELDS(api_key_fields), NULL
};

static const struct sbx_field endpoint_fields[] = {
    STRING(sbx_oauth, token_host, "host", .required = true, .always = true, .doc = "Host of the token endpoint."),
    STRING(sbx_oauth, token_path, "path", .required = true, .always = true, .doc = "Path of the token endpoint."),
};
static const struct sbx_block endpoint_block = {
    "credentials[].oauth.tokenEndpoint", 0, -1, -1, FIELDS(endpoint_fields), NULL
};
static const struct sbx_field sentinel_fields[] = {
    STRING(sbx_oauth, sentinel_access, "accessToken", .always = true, .doc = "Stand-in for the access token."),
    STRING(sbx_oauth, sentinel_refresh, "refreshToken", .always = true, .doc = "Stand-in for the refresh token."),
};
static const struct sbx_block sentinel_block = {
    "credentials[].oauth.sentinels", 0, -1, -1, FIELDS(sentinel_fields), NULL
};
static const struct sbx_field token_file_fields[] = {
    STRING(sbx_oauth, file_path, "path", .always = true, .doc = "File that the agent reads its tokens from."),
    STRING(sbx_oauth, file_template, "template", .doc = "Its text; structure is preferred."),
    CUSTOM(sbx_oauth, file_structure, "structure", sbx_custom_structure, .want = "a mapping", .as = SBX_FIELD_JSON, .other = SBX_FIELD_JSON,
           .doc = "Its JSON, with {{.AccessToken}} and the like."),
};
static const struct sbx_block token_file_block = {
    "credentials[].oauth.credentialFile", 0, -1, -1, FIELDS(token_file_fields), NULL
};
static const struct sbx_field response_fields[] = {
    STRING(sbx_oauth, field_access, "accessToken", .doc = "Key of the access token."),
    STRING(sbx_oauth, field_refresh, "refreshToken", .doc = "Key of the refresh token."),
    STRING(sbx_oauth, field_expires, "expiresIn", .doc = "Key of the life time."),
    STRING(sbx_oauth, field_scope, "scope", .doc = "Key of the scope."),
};
static const struct sbx_block response_block = {
    "credentials[].oauth.responseFields", 0, -1, -1, FIELDS(response_fields), NULL
};
static const struct sbx_field oauth_fields[] = {
    INNER("tokenEndpoint", endpoint_block, .doc = "Where tokens come from."),
    STRINGS(sbx_oauth, resource_hosts, "resourceHosts", .doc = "Hosts that take the access token."),
    INNER("sentinels", sentinel_block, SET(sbx_oauth, sentinels_set), .doc = "What the agent sees."),
    INNER("credentialFile", token_file_block, SET(sbx_oauth, file_set), .doc = "The agent's token file."),
    STRINGS(sbx_oauth, skip_if_env, "skipIfEnv", .doc = "Accepted for old kits; no effect."),
    INNER("responseFields", response_block, SET(sbx_oauth, fields_set), .keep = true, .doc = "Keys of the response."),
    BOOL(sbx_oauth, passthrough, "passthrough", .doc = "Let the agent see the real tokens."),
};
static const struct sbx_block oauth_block = {
    "credentials[].oauth", sizeof(struct sbx_oauth), offsetof(struct sbx_oauth, at), -1,
    FIELDS(oauth_fields), NULL
};

static const struct sbx_field credential_fields[] = {
    STRING(sbx_credential, service, "service", .required = true, .always = true, .doc = "Identity of the service."),
    STRING(sbx_credential, description, "description", .doc = "Shown in prompts."),
    BOOL(sbx_credential, required, "required", .doc = "Refuse to start without it."),
    STRING(sbx_credential, provider, "provider", .doc = "Entry of the provider registry."),
    BLOCK(sbx_credential, api_key, "apiKey", api_key_block, SET(sbx_credential, api_key.set),
          .doc = "A key that the gate puts into requests."),
    BLOCK(sbx_credential, oauth, "oauth", oauth_block, SET(sbx_credential, oauth.set), .doc = "A log-in by OAuth."),
};
static const struct sbx_block credential_block = {
    "credentials[]", sizeof(struct sbx_credential), offsetof(struct sbx_credential, at), -1,
    FIELDS(credential_fields), NULL
};

static const struct sbx_field environment_fields[] = {
    PAIRS(sbx_artifact, variables, "variables", .doc = "Environment variables."),
    { .key = "proxyManaged", .type = SBX_FIELD_IGNORED,
      .doc = "set credentials[].apiKey.proxyManaged instead" },
};
static const struct sbx_block environment_block = {
    "environment", 0, -1, -1, FIELDS(environment_fields), NULL
};

static const struct sbx_field install_fields[] = {
    STRING(sbx_install, command, "command", .required = true, .always = true, .doc = "Text for sh -c."),
    STRING(sbx_install, user, "user", .doc = "User (default \"0\")."),
    STRING(sbx_install, description, "description", .doc = "Shown while it runs."),
};
static const struct sbx_block install_block = {
    "setup.install[]", sizeof(struct sbx_install), offsetof(struct sbx_install, at), -1,
    FIELDS(install_fields), NULL
};
static const struct sbx_field startup_fields[] = {
    CUSTOM(sbx_startup, command, "command", sbx_custom_startup, .required = true,
           .want = "a string or a list of strings", .always = true, .as = SBX_FIELD_STRINGS, .doc = "Text for sh -c, or an argument list."),
    STRING(sbx_startup, user, "user", .doc = "User (default \"1000\")."),
    BOOL(sbx_startup, background, "background", .doc = "Do not wait for it."),
    STRING(sbx_startup, description, "description", .doc = "Shown when it runs."),
};
static const struct sbx_block startup_block = {
    "setup.startup[]", sizeof(struct sbx_startup), offsetof(struct sbx_startup, at), -1,
    FIELDS(startup_fields), NULL
};
static const struct sbx_field setup_file_fields[] = {
    STRING(sbx_setup_file, path, "path", .required = true, .check = sbx_check_absolute, .always = true, .doc = "Absolute path."),
    STRING(sbx_setup_file, content, "content", .check = sbx_check_content, .always = true, .doc = "Text; ${WORKDIR} is filled in."),
    STRING(sbx_setup_file, mode, "mode", .check = sbx_check_mode, .doc = "Octal permissions (default \"0644\")."),
    BOOL(sbx_setup_file, only_if_missing, "onlyIfMissing", .doc = "Leave an existing file alone."),
    STRING(sbx_setup_file, description, "description", .doc = "What it is for."),
};
static const struct sbx_block setup_file_block = {
    "setup.files[]", sizeof(struct sbx_setup_file), offsetof(struct sbx_setup_file, at), -1,
    FIELDS(setup_file_fields), NULL
};
static const struct sbx_field setup_fields[] = {
    LIST(sbx_artifact, install, "install", install_block, .want = "a list of {command: string}",
         .doc = "Commands of the creation, in order."),
    LIST(sbx_artifact, startup, "startup", startup_block,
         .want = "a list of {command: string or list of strings}", .doc = "Commands of every start."),
    LIST(sbx_artifact, setup_files, "files", setup_file_block, .want = "a list of {path, content}",
         .doc = "Files written at every start."),
};
static const struct sbx_block setup_block = { "setup", 0, -1, -1, FIELDS(setup_fields), NULL };

static const struct sbx_field arg_fields[] = {
    STRING(sbx_arg, default_value, "default", .keep = true, .doc = "Value when none is supplied."),
    BOOL(sbx_arg, required, "required", .doc = "A value must be supplied."),
    STRING(sbx_arg, description, "description", .doc = "What it is for."),
    STRINGS(sbx_arg, choices, "enum", .doc = "The allowed values."),
    STRING(sbx_arg, pattern, "pattern", .doc = "Regular expression for the whole value."),
};
static const struct sbx_block arg_block = {
    "args.*", sizeof(struct sbx_arg), offsetof(struct sbx_arg, at), offsetof(struct sbx_arg, name),
    FIELDS(arg_fields), NULL
};

static const struct sbx_field root_fields[] = {
    CUSTOM(sbx_artifact, schema_version, "schemaVersion", sbx_custom_version, .always = true, .doc = "Always \"2\"."),
    STRING(sbx_artifact, kind, "kind", .always = true, .words = sbx_words_kind, .doc = "sandbox or mixin."),
    STRING(sbx_artifact, name, "name", .always = true, .doc = "Name of the kit: a-z, 0-9, \"-\"; 1 to 64."),
    STRING(sbx_artifact, version, "version", .doc = "Version of the kit."),
    STRING(sbx_artifact, display_name, "displayName", .doc = "Name for people."),
    STRING(sbx_artifact, description, "description", .doc = "What the kit does."),
    STRING(sbx_artifact, source_url, "sourceURL", .doc = "Where its source is."),
    CUSTOM(sbx_artifact, extends, "extends", sbx_custom_extends, .want = "a string",
           .doc = "The parent of a sandbox kit."),
    STRINGS(sbx_artifact, mixins, "mixins", .doc = "Mixins of a sandbox kit."),
    INNER("requires", requires_block, SET(sbx_artifact, requires_set), .keep = true, .doc = "What a mixin needs."),
    STRINGS(sbx_artifact, locked, "locked", .check = sbx_check_locked, .doc = "Paths that children may not change."),
    STRINGS(sbx_artifact, licenses, "licenses", .check = sbx_check_license, .doc = "SPDX identifiers."),
    { .key = "args", .type = SBX_FIELD_NAMED, .offset = offsetof(struct sbx_artifact, args),
      .block = &arg_block, .doc = "Arguments that the installer supplies." },
    INNER("sandbox", sandbox_block, SET(sbx_artifact, sandbox_set), .doc = "The image and the agent."),
    INNER("agentInstructions", instructions_block, .doc = "Instructions for the agent."),
    INNER("permissions", permissions_block, .doc = "What the sandbox may do."),
    LIST(sbx_artifact, volumes, "volumes", volume_block, .want = "a list of {path, type, size, mode}",
         .old = "a mapping is of version 1; here each volume is an item with path and size",
         .doc = "Volumes and tmpfs mounts."),
    INNER("security", security_block, SET(sbx_artifact, security_set), .keep = true, .doc = "Container privileges."),
    LIST(sbx_artifact, ports, "ports", port_block, .want = "a list of {container, protocol, name}",
         .doc = "Ports to publish on the host."),
    LIST(sbx_artifact, credentials, "credentials", credential_block, .want = "a list of {service, apiKey, oauth}",
         .old = "sources are of version 1; where a value is found stands in the user's credentials.yaml",
         .doc = "Credentials that the kit uses."),
    INNER("environment", environment_block, SET(sbx_artifact, environment_set), .keep = true, .doc = "The environment."),
    INNER("setup", setup_block, .doc = "Commands and files."),
};
const struct sbx_block sbx_kit_v2 = {
    "", sizeof(struct sbx_artifact), offsetof(struct sbx_artifact, at), -1, FIELDS(root_fields), NULL
};
