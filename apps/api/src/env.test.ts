import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EnvError, knownVariables, projectRoot, readEnv } from "./env.ts";

test("has a default for everything", () => {
  expect(readEnv({})).toMatchObject({
    host: "127.0.0.1",
    port: 4000,
    registration: "open",
    databaseUrl: undefined,
  });
});

test("doesn't repeat an invalid URL, which can contain a password", () => {
  const variables = { DATABASE_URL: "mysql://ada:swordfish@db/x", BASE_URL: "https://ada:swordfish@x" };
  expect(() => readEnv(variables)).not.toThrow("swordfish");
  expect(() => readEnv(variables)).toThrow("DATABASE_URL must");
});

test("reads an OpenID provider, whose name is its host by default, and which has HTTPS unless it is on this machine", () => {
  expect(readEnv({}).openid).toBeUndefined();
  const variables = { OIDC_ISSUER: "https://id.example.com/realm", OIDC_CLIENT_ID: "latchkey" };
  expect(readEnv({ ...variables, OIDC_CLIENT_SECRET: "secret" }).openid).toEqual({
    issuer: "https://id.example.com/realm",
    clientId: "latchkey",
    clientSecret: "secret",
    name: "id.example.com",
  });
  expect(readEnv({ ...variables, OIDC_NAME: "Example" }).openid).toMatchObject({ name: "Example" });
  for (const issuer of ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"])
    expect(readEnv({ ...variables, OIDC_ISSUER: issuer }).openid).toMatchObject({ issuer });
  for (const issuer of [
    "http://id.example.com",
    "http://127.0.0.1.example.com",
    "id.example.com",
    "https://a:b@c",
  ])
    expect(() => readEnv({ ...variables, OIDC_ISSUER: issuer })).toThrow(
      "OIDC_ISSUER must be a URL with https",
    );
  expect(() => readEnv({ OIDC_ISSUER: "https://id.example.com" })).toThrow("OIDC_CLIENT_ID must be set too");
  expect(() => readEnv({ OIDC_CLIENT_SECRET: "secret" })).toThrow("OIDC_ISSUER must be set too");
});

test("treats an empty variable as unset", () => {
  expect(readEnv({ PORT: "", DATABASE_URL: "", REGISTRATION: "" })).toEqual(readEnv({}));
});

test("by default, trusts no proxy and keeps the history for 90 days; proxies are IP ranges", () => {
  expect(readEnv({})).toMatchObject({ trustedProxies: [], historyDays: 90, instanceLogDays: 365 });
  expect(
    readEnv({ TRUSTED_PROXIES: "10.0.0.0/8, ::1", HISTORY_DAYS: "7", INSTANCE_LOG_DAYS: "30" }),
  ).toMatchObject({
    trustedProxies: ["10.0.0.0/8", "::1"],
    historyDays: 7,
    instanceLogDays: 30,
  });
});

test("by default, a user can have 50 sessions, and a network can sign up 20 times per hour", () => {
  expect(readEnv({})).toMatchObject({ maxSessionsPerUser: 50, maxSignUpsPerHour: 20 });
  expect(readEnv({ MAX_SESSIONS_PER_USER: "3", MAX_SIGN_UPS_PER_HOUR: "5" })).toMatchObject({
    maxSessionsPerUser: 3,
    maxSignUpsPerHour: 5,
  });
});

test("has a default for each quota", () => {
  expect(readEnv({}).quotas).toEqual({
    keysPerUser: 1_000,
    workspacesPerUser: 100,
    membershipsPerUser: 200,
    membersPerWorkspace: 1_000,
    serviceAccountsPerWorkspace: 100,
    invitationsPerWorkspace: 500,
    webhooksPerWorkspace: 10,
    keyspacesPerWorkspace: 100,
    issuedKeysPerWorkspace: 1_000_000,
    invitationsPerHour: 100,
    keyChangesPerHour: 2_000,
    issuedSecretsPerHour: 100_000,
  });
  const variables = {
    MAX_KEYS_PER_USER: "100000",
    MAX_WORKSPACES_PER_USER: "1",
    MAX_MEMBERSHIPS_PER_USER: "2",
    MAX_MEMBERS_PER_WORKSPACE: "7",
    MAX_SERVICE_ACCOUNTS_PER_WORKSPACE: "6",
    MAX_INVITATIONS_PER_WORKSPACE: "8",
    MAX_WEBHOOKS_PER_WORKSPACE: "11",
    MAX_KEYSPACES_PER_WORKSPACE: "12",
    MAX_ISSUED_KEYS_PER_WORKSPACE: "13",
    MAX_INVITATIONS_PER_HOUR: "10",
    MAX_KEY_CHANGES_PER_HOUR: "9",
    MAX_ISSUED_SECRETS_PER_HOUR: "1000",
  };
  expect(readEnv(variables).quotas).toEqual({
    keysPerUser: 100_000,
    workspacesPerUser: 1,
    membershipsPerUser: 2,
    membersPerWorkspace: 7,
    serviceAccountsPerWorkspace: 6,
    invitationsPerWorkspace: 8,
    webhooksPerWorkspace: 11,
    keyspacesPerWorkspace: 12,
    issuedKeysPerWorkspace: 13,
    invitationsPerHour: 10,
    keyChangesPerHour: 9,
    issuedSecretsPerHour: 1_000,
  });
});

test("by default, users can be members of as many workspaces as they may own", () => {
  expect(readEnv({ MAX_WORKSPACES_PER_USER: "1000" }).quotas.membershipsPerUser).toBe(1_000);
  expect(readEnv({ MAX_WORKSPACES_PER_USER: "10" }).quotas.membershipsPerUser).toBe(200);
});

test("logs requests only if enabled", () => {
  expect(readEnv({}).hasRequestLog).toBe(false);
  expect(readEnv({ REQUEST_LOG: "off" }).hasRequestLog).toBe(false);
  expect(readEnv({ REQUEST_LOG: "on" }).hasRequestLog).toBe(true);
});

test("converts the base URL to lower case without a trailing slash", () => {
  expect(readEnv({ BASE_URL: "HTTPS://Keys.Example.com" }).baseUrl).toBe("https://keys.example.com");
  expect(readEnv({ BASE_URL: "https://keys.example.com/" }).baseUrl).toBe("https://keys.example.com");
});

test("by default, no origin can call the open API; origins have the format that browsers send", () => {
  expect(readEnv({}).corsOrigins).toEqual([]);
  const origins = "https://App.example.com/, http://localhost:3000,https://keys.example.com:443";
  expect(readEnv({ CORS_ORIGINS: origins }).corsOrigins).toEqual([
    "https://app.example.com",
    "http://localhost:3000",
    "https://keys.example.com",
  ]);
});

test.each([
  ["PORT", "http"],
  ["PORT", "70000"],
  ["PORT", "40.5"],
  ["PORT", " 1e3"],
  ["BASE_URL", "https://keys.example.com/latchkey"],
  ["BASE_URL", "https://ada:secret@keys.example.com"],
  ["BASE_URL", "https://keys.example.com/?a=1#b"],
  ["BASE_URL", "keys.example.com"],
  ["BASE_URL", `https://${"a.".repeat(130)}example.com`],
  ["BASE_URL", "javascript:alert(1)"],
  ["DATABASE_URL", "mysql://localhost/x"],
  ["DATABASE_URL", "postgres://ada:swordfish/2@db.example.com/latchkey"],
  ["DATABASE_CHANGE_CONNECTIONS", "0"],
  ["DATABASE_READ_CONNECTIONS", "101"],
  ["DATABASE_READ_CONNECTIONS", "many"],
  ["AUTH_SECRET", "short"],
  ["REGISTRATION", "maybe"],
  ["LOG_LEVEL", "loud"],
  ["REQUEST_LOG", "yes"],
  ["TRUSTED_PROXIES", "10.0.0.0/33"],
  ["TRUSTED_PROXIES", "10.0.0.1,,10.0.0.2"],
  ["TRUSTED_PROXIES", "proxy.example.com"],
  ["CORS_ORIGINS", "*"],
  ["CORS_ORIGINS", "null"],
  ["CORS_ORIGINS", "app.example.com"],
  ["CORS_ORIGINS", "https://app.example.com/path"],
  ["CORS_ORIGINS", "https://*.example.com"],
  ["CORS_ORIGINS", "https://app.example.com,"],
  ["HISTORY_DAYS", "0"],
  ["INSTANCE_LOG_DAYS", "29"],
  ["INSTANCE_LOG_DAYS", "99999"],
  ["MAX_SESSIONS_PER_USER", "0"],
  ["MAX_SESSIONS_PER_USER", "many"],
  ["MAX_SIGN_UPS_PER_HOUR", "0"],
  ["MAX_KEYS_PER_USER", "0"],
  ["MAX_WORKSPACES_PER_USER", "-1"],
  ["MAX_MEMBERS_PER_WORKSPACE", "1e9"],
  ["MAX_KEY_CHANGES_PER_HOUR", "0"],
  ["MAX_ISSUED_SECRETS_PER_HOUR", "999"],
  ["HISTORY_DAYS", "ninety"],
])("explains what is wrong with %s=%s", (name, value) => {
  expect(() => readEnv({ [name]: value })).toThrow(EnvError);
  expect(() => readEnv({ [name]: value })).toThrow(new RegExp(`^${name} must `));
});

test.each([
  "statement_timeout",
  "lock_timeout",
  "query_timeout",
  "idle_in_transaction_session_timeout",
  "application_name",
])("rejects a database URL with %s, which would replace Latchkey's", (name) => {
  const url = `postgres://user@db.example.com/latchkey?sslmode=verify-full&${name}=1`;
  expect(() => readEnv({ DATABASE_URL: url })).toThrow(
    new EnvError(`DATABASE_URL must not have the parameter \`${name}\`, which Latchkey sets itself.`),
  );
});

test.each([
  "postgres://user@db.example.com/latchkey?sslmode=verify-full&sslrootcert=/etc/ssl/ca.pem",
  "postgres://user@%2Fvar%2Frun%2Fpostgresql/latchkey",
  "postgres:///latchkey?host=/var/run/postgresql",
])("accepts the database URL %s", (url) => {
  expect(readEnv({ DATABASE_URL: url }).databaseUrl).toBe(url);
});

test("rejects a database URL with options, which would replace Latchkey's", () => {
  const url = "postgres://user@db.example.com/latchkey?options=-c%20search_path%3Dx";
  expect(() => readEnv({ DATABASE_URL: url, AUTH_SECRET: "a".repeat(32) })).toThrow(
    new EnvError(
      "DATABASE_URL must not have an `options` parameter; set these options with `alter role` instead.",
    ),
  );
});

test.each([
  [
    "postgres://ada:sword#fish@db.example.com/latchkey",
    'must not contain "#": write it as "%23", for example in a password.',
  ],
  [
    "postgres://ada:12#fish@db.example.com/latchkey",
    'must not contain "#": write it as "%23", for example in a password.',
  ],
  [
    "postgres://ada:100%fish@db.example.com/latchkey",
    'must not contain "%" other than as percent-encoding: write it as "%25".',
  ],
  ...[
    "postgres://latchkey:12/fish@db/latchkey",
    "postgres://latchkey:/fish@db/latchkey",
    "postgres://latchkey:12?fish@db/latchkey",
    "postgres://latchkey:a@12/fish@db/latchkey",
  ].map((url) => [
    url,
    'must not contain "@" after the host: write "/", "?" and "@" in a password as "%2F", "%3F" and "%40".',
  ]),
])("names the unescaped character of a database URL, without the URL: %s", (url, message) => {
  expect(() => readEnv({ DATABASE_URL: url })).toThrow(new EnvError(`DATABASE_URL ${message}`));
});

test("accepts a password with percent-encoded URL characters", () => {
  const url = `postgres://ada:${encodeURIComponent("a#b@c/d?e%f:g")}@db.example.com/latchkey`;
  expect(readEnv({ DATABASE_URL: url }).databaseUrl).toBe(url);
});

test("by default, uses five connections for writes and five for reads", () => {
  expect(readEnv({})).toMatchObject({ changeConnections: 5, readConnections: 5 });
  expect(readEnv({ DATABASE_CHANGE_CONNECTIONS: "1", DATABASE_READ_CONNECTIONS: "100" })).toMatchObject({
    changeConnections: 1,
    readConnections: 100,
  });
});

/** The rows of tables whose first column names variables, with what is in backticks in the second column. */
async function readVariables(file: string): Promise<readonly { names: string[]; defaults: string[] }[]> {
  const text = await readFile(join(projectRoot, file), "utf8");
  const rows = text.matchAll(/^\| ((?:`[A-Z_]+`(?:, )?)+) +\| (.+?) +\|/gm);
  const codesOf = (cell: string) => [...cell.matchAll(/`(.+?)`/g)].map(([, code = ""]) => code);
  return [...rows].map(([, names = "", cell = ""]) => ({
    names: codesOf(names),
    defaults: /^[\d,]+$/.test(cell) ? [cell.replaceAll(",", "")] : codesOf(cell),
  }));
}

test("the README lists every variable", async () => {
  const text = await readFile(join(projectRoot, "README.md"), "utf8");
  const files = [...text.matchAll(/`([A-Z_]+_FILE)`/g)].map(([, name = ""]) => name);
  const listed = (await readVariables("README.md")).flatMap(({ names }) => names);
  expect([...listed, ...files].sort()).toEqual([...knownVariables].sort());
});

test.each(["README.md", "docs/limits.md"])("%s states the defaults of variables", async (file) => {
  const stated = (await readVariables(file)).flatMap(({ names, defaults }) =>
    names.length === defaults.length ? names.map((name, index) => [name, defaults[index]] as const) : [],
  );
  // These defaults depend on other variables.
  const fixed = stated.filter(([name]) => name !== "AUTH_SECRET" && name !== "MAIL_FROM");
  expect(fixed.length).toBeGreaterThan(10);
  for (const [name, value] of fixed) expect([name, readEnv({ [name]: value })]).toEqual([name, readEnv({})]);
});
