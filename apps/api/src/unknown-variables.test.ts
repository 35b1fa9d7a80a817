import { expect, test } from "vitest";
import { readEnv } from "./env.ts";

const warningsOf = (variables: Record<string, string>): readonly string[] => readEnv(variables).warnings;

test.each([
  ["DATABASE_URI", "DATABASE_URL"],
  ["DATBASE_URL", "DATABASE_URL"],
  ["DATABASE_URL_FILES", "DATABASE_URL_FILE"],
  ["database_url", "DATABASE_URL"],
  ["TRUST_PROXIES", "TRUSTED_PROXIES"],
  ["TRUSTED_PROXY", "TRUSTED_PROXIES"],
  ["DATA_DIRECTORY", "DATA_DIR"],
  ["LOGLEVEL", "LOG_LEVEL"],
  ["PORTS", "PORT"],
  ["LATCHKEY_PORT", "PORT"],
  ["LATCHKEY_DATABASE_URL", "DATABASE_URL"],
  ["LATCHKEY_MAX_SERVICE_ACCOUNTS_PER_WORKSPACE", "MAX_SERVICE_ACCOUNTS_PER_WORKSPACE"],
  ["latchkey_host", "HOST"],
])("warns about %s, and names %s", (name, meant) => {
  expect(warningsOf({ [name]: "4000" })).toEqual([
    `The environment variable ${name} has no effect; did you mean ${meant}?`,
  ]);
});

test("warns about an unknown name that begins with LATCHKEY_", () => {
  expect(warningsOf({ LATCHKEY_COLOR: "blue" })).toEqual([
    "The environment variable LATCHKEY_COLOR has no effect: Latchkey does not read it.",
  ]);
});

test("doesn't warn about Latchkey's variables, empty ones and common environment variables", () => {
  expect(warningsOf({ PORT: "4000", HOST: "::1", LOG_LEVEL: "warn", DATABASE_URI: "" })).toEqual([]);
  const usual =
    "PATH HOME HOSTNAME HOSTTYPE LOGNAME SHELL TERM USER PWD LANG LC_ALL TZ CI EDITOR HISTSIZE NODE_ENV NODE_PATH " +
    "NODE_OPTIONS npm_config_user_agent npm_lifecycle_event npm_package_json PNPM_HOME PGHOST PGPORT PGUSER PGPASSWORD " +
    "PGDATABASE XDG_DATA_DIRS XDG_DATA_HOME SSH_AUTH_SOCK INVOCATION_ID JOURNAL_STREAM KUBERNETES_PORT " +
    "KUBERNETES_SERVICE_HOST GITHUB_BASE_REF HTTP_PROXY http_proxy TMPDIR TURBO_TELEMETRY_DISABLED DEBUG JWT_SECRET";
  expect(warningsOf(Object.fromEntries(usual.split(" ").map((name) => [name, "x"])))).toEqual([]);
});

test.each(["LATCHKEY", "LATCHKEY_DB", "LATCHKEY_2_READ_REPLICA"])(
  "doesn't warn about variables that Kubernetes sets for a service whose name begins with latchkey: %s",
  (service) => {
    const variables = {
      [`${service}_SERVICE_HOST`]: "10.0.0.7",
      [`${service}_SERVICE_PORT`]: "4000",
      [`${service}_SERVICE_PORT_HTTP`]: "4000",
      [`${service}_PORT`]: "tcp://10.0.0.7:4000",
      [`${service}_PORT_4000_TCP`]: "tcp://10.0.0.7:4000",
      [`${service}_PORT_4000_TCP_PROTO`]: "tcp",
      [`${service}_PORT_4000_TCP_PORT`]: "4000",
      [`${service}_PORT_4000_TCP_ADDR`]: "10.0.0.7",
    };
    expect(warningsOf(variables)).toEqual([]);
  },
);
