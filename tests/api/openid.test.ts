import { type EmbeddedPostgres, openEmbeddedPostgres } from "@latchkey/db/embedded-postgres";
import { TOTP } from "otpauth";
import type pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type Answer, callProcedure, findSignedIn, signUp } from "../support/account.ts";
import { holdLocks, open } from "../support/inspection.ts";
import { passProvider, startImpostor, startProvider, type TestProvider } from "../support/openid-provider.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { Variables } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";

// People sign in with a real OpenID provider, by the calls that the web app makes.

let provider: TestProvider;
let instance: TestInstance;
let node: Awaited<ReturnType<TestInstance["start"]>>;
let baseUrl: string;
let database: pg.Client;
/** Keeps Postgres running while the node restarts. */
let postgres: EmbeddedPostgres;

beforeAll(async () => {
  provider = await startProvider();
  instance = await createPreparedInstance(provider.variables);
  node = await instance.start();
  postgres = await openEmbeddedPostgres({ dataDirectory: instance.dataDirectory });
  ({ baseUrl } = node);
  provider.register(baseUrl);
  database = await open(await connectionTo(instance.cluster));
  // The first account is the operator's.
  await signUp(baseUrl, "operator@example.com");
});
afterAll(async () => {
  await database?.end();
  await postgres?.close();
  await instance?.close();
  await provider?.stop();
});

/** Restarts the node at the same address, with other variables, until the next restart. */
async function restart(variables: Variables = {}): Promise<void> {
  await node.stop();
  node = await instance.start({ PORT: new URL(baseUrl).port, ...variables });
}

interface Start {
  readonly url: string;
  readonly cookie: string;
}

async function start(): Promise<Start> {
  const { data, cookie = "" } = await callProcedure(baseUrl, {
    path: "session.startOpenid",
    kind: "mutation",
  });
  return { url: (data as { url: string }).url, cookie }; // The router's type for this procedure.
}

async function complete(
  cookie: string,
  callback: URL,
  changes: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const { code, state, iss } = Object.fromEntries(callback.searchParams);
  const input = { code, state, iss, ...changes };
  const call = { path: "session.signInWithOpenid", kind: "mutation", input, cookie } as const;
  return await callProcedure(baseUrl, call);
}

/** Signs in as a new browser. */
async function enter(subject: string): Promise<Answer> {
  const { url, cookie } = await start();
  return await complete(cookie, await passProvider(url, subject));
}

/** A code of a user's authenticator app. Forgets the last one, because tests use several within 30 seconds. */
async function createCode(secret: string): Promise<string> {
  await database.query("update totp_factors set last_step = null");
  return new TOTP({ secret }).generate();
}

async function countUsers(email: string): Promise<number> {
  const { rows } = await database.query("select 1 from users where email = $1", [email]);
  return rows.length;
}

test("a new person gets an account with a verified address, once, and the same one at the next sign-in", async () => {
  const email = "ada.new@example.com";
  provider.setClaims("ada", { email: "Ada.New@example.com", isEmailVerified: true });
  expect(await enter("ada")).toMatchObject({
    status: 200,
    data: { isNewAccount: true, session: { user: { email, name: "Person ada" } } },
  });
  // The address at the provider no longer matters.
  provider.setClaims("ada", { email: "operator@example.com", isEmailVerified: true });
  expect(await enter("ada")).toMatchObject({
    status: 200,
    data: { isNewAccount: false, session: { user: { email } } },
  });
  const { rows } = await database.query("select email_verified from users where email = $1", [email]);
  expect(rows).toEqual([{ email_verified: true }]);
});

test("a response is accepted once, with its state, from its provider, and in the browser that asked for it", async () => {
  provider.setClaims("grace", { email: "grace@example.com", isEmailVerified: true });
  const other = await start();
  const { url, cookie } = await start();
  const callback = await passProvider(url, "grace");
  // Another browser's attempt has another state, nonce and verifier.
  expect(await complete(other.cookie, callback)).toMatchObject({ code: "UNAUTHORIZED" });
  expect(await complete("", callback)).toMatchObject({ code: "UNAUTHORIZED" });
  expect(await countUsers("grace@example.com")).toBe(0);
  expect(await complete(cookie, callback)).toMatchObject({ status: 200 });
  expect(await complete(cookie, callback)).toMatchObject({ code: "UNAUTHORIZED" });

  for (const changes of [{ state: "wrong" }, { code: "wrong" }, { iss: "https://elsewhere.example" }]) {
    const attempt = await start();
    const response = await passProvider(attempt.url, "grace");
    expect(await complete(attempt.cookie, response, changes)).toMatchObject({ code: "UNAUTHORIZED" });
    // A failed attempt is used up.
    expect(await complete(attempt.cookie, response)).toMatchObject({ code: "UNAUTHORIZED" });
  }
});

test("of concurrent completions, one succeeds", async () => {
  provider.setClaims("twice", { email: "twice@example.com", isEmailVerified: true });
  const { url, cookie } = await start();
  const callback = await passProvider(url, "twice");
  const answers = await Promise.all([1, 2, 3, 4].map(() => complete(cookie, callback)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

test("the request for a code has PKCE, state and nonce, and leads back to the instance only", async () => {
  const parameters = new URL((await start()).url).searchParams;
  expect(parameters.get("code_challenge_method")).toBe("S256");
  for (const name of ["code_challenge", "state", "nonce"]) expect(parameters.get(name)).toHaveLength(43);
  expect(parameters.get("redirect_uri")).toBe(`${baseUrl}/sign-in/openid`);
});

test("an address that the provider has not verified creates and links nothing", async () => {
  const email = "unverified@example.com";
  for (const isEmailVerified of [false, "false"] as const) {
    provider.setClaims("unverified", { email, isEmailVerified });
    expect(await enter("unverified")).toMatchObject({ code: "FORBIDDEN" });
  }
  expect(await countUsers(email)).toBe(0);
  expect(await enter("without-email")).toMatchObject({ code: "FORBIDDEN" });
});

test("an address counts as verified if the provider says so as text", async () => {
  provider.setClaims("text", { email: "text@example.com", isEmailVerified: "true" });
  expect(await enter("text")).toMatchObject({ status: 200, data: { isNewAccount: true } });
});

test("an account is linked by its address only if the address was verified here", async () => {
  const account = await signUp(baseUrl, "local@example.com");
  provider.setClaims("local", { email: account.email, isEmailVerified: true });
  expect(await enter("local")).toMatchObject({ code: "FORBIDDEN" });
  await database.query("update users set email_verified = true where email = $1", [account.email]);
  expect(await enter("local")).toMatchObject({ data: { isNewAccount: false } });
  // Another identity with the same address, such as that of a new employee, gets no access.
  provider.setClaims("successor", { email: account.email, isEmailVerified: true });
  expect(await enter("successor")).toMatchObject({ code: "FORBIDDEN" });
  const { data } = await callProcedure(baseUrl, {
    path: "securityLog.list",
    kind: "query",
    input: {},
    cookie: account.cookie,
  });
  const actions = (data as { items: readonly { action: string }[] }).items.map(({ action }) => action);
  expect(actions.slice(0, 4)).toEqual([
    "sign-in.failed",
    "sign-in.succeeded",
    "identity.linked",
    "sign-in.failed",
  ]);
});

test("two tabs that sign in for the first time at the same time link the identity once, and both sign in", async () => {
  const account = await signUp(baseUrl, "tabs@example.com");
  provider.setClaims("tabs", { email: account.email, isEmailVerified: true });
  await database.query("update users set email_verified = true where email = $1", [account.email]);
  const tabs = await Promise.all(
    [1, 2].map(async () => {
      const { url, cookie } = await start();
      return { cookie, callback: await passProvider(url, "tabs") };
    }),
  );
  // Both have found the user by the email address before either links the identity.
  const lock = "select from users where email = $1 for update";
  const { release } = await holdLocks(await connectionTo(instance.cluster), lock, [account.email]);
  const completed = tabs.map(({ cookie, callback }) => complete(cookie, callback));
  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%for no key update'`;
  await expect.poll(async () => (await database.query(waiting)).rows).toHaveLength(2);
  await release();
  for (const answer of await Promise.all(completed)) expect(answer).toMatchObject({ status: 200 });
  const { rows } = await database.query<{ action: string }>(
    `select action from security_events where user_id = (select id from users where email = $1)
       and action in ('identity.linked', 'sign-in.failed')`,
    [account.email],
  );
  expect(rows).toEqual([{ action: "identity.linked" }]);
});

test("a disabled user can't sign in", async () => {
  provider.setClaims("disabled", { email: "disabled@example.com", isEmailVerified: true });
  await enter("disabled");
  await database.query("update users set disabled_at = now() where email = 'disabled@example.com'");
  expect(await enter("disabled")).toMatchObject({ code: "UNAUTHORIZED" });
});

test.each([
  ["identity", true],
  ["verified email address", false],
])("a user who is deleted after their %s was found can't sign in", async (_what, isLinked) => {
  const subject = `deleted-${isLinked}`;
  const email = `${subject}@example.com`;
  provider.setClaims(subject, { email, isEmailVerified: true });
  if (isLinked) await enter(subject);
  else await signUp(baseUrl, email);
  await database.query("update users set email_verified = true where email = $1", [email]);
  const { url, cookie } = await start();
  const callback = await passProvider(url, subject);
  const deleter = await open(await connectionTo(instance.cluster));
  onTestFinished(() => deleter.end());
  await deleter.query("begin");
  await deleter.query("delete from users where email = $1", [email]);
  const completed = complete(cookie, callback);
  // It has found the user, and waits for the lock on the user.
  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%for no key update'`;
  await expect.poll(async () => (await database.query(waiting)).rows).toHaveLength(1);
  await deleter.query("commit");
  expect(await completed).toMatchObject({ code: "UNAUTHORIZED" });
});

test("a sign-in opens no session if the identity is unlinked after it was checked", async () => {
  const email = "unlinked@example.com";
  provider.setClaims("unlinked", { email, isEmailVerified: true });
  await enter("unlinked");
  const ofUser = "user_id = (select id from users where email = $1)";
  await database.query(`delete from sessions where ${ofUser}`, [email]);
  const { url, cookie } = await start();
  const callback = await passProvider(url, "unlinked");
  // The new session waits for this lock, after the identity was found.
  const connection = await connectionTo(instance.cluster);
  const { release } = await holdLocks(connection, "lock table sessions in share mode");
  const completed = complete(cookie, callback);
  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like 'insert into "sessions"%'`;
  await expect.poll(async () => (await database.query(waiting)).rows).toHaveLength(1);
  await database.query(`delete from identities where ${ofUser}`, [email]);
  await release();
  expect(await completed).toMatchObject({ code: "UNAUTHORIZED" });
  expect((await database.query(`select from sessions where ${ofUser}`, [email])).rows).toEqual([]);
});

test("a user without a password can't unlink the identity until they set a password", async () => {
  provider.setClaims("solo", { email: "solo@example.com", isEmailVerified: true });
  const session = readSession(await enterWithCookies("solo"));
  const call = (path: string, input?: unknown) =>
    callProcedure(baseUrl, { path, kind: "mutation", input, cookie: session });
  expect(await call("account.unlinkOpenid", {})).toMatchObject({ code: "CONFLICT" });
  expect(await call("account.setPassword", { newPassword: "twelve horses and a ladder" })).toMatchObject({
    status: 200,
  });
  expect(await call("account.setPassword", { newPassword: "twelve horses and a fence" })).toMatchObject({
    code: "CONFLICT",
  });
  expect(await call("account.unlinkOpenid", {})).toMatchObject({ status: 200 });
  // The address is verified, so that the next sign-in links it again.
  expect(await enter("solo")).toMatchObject({ data: { isNewAccount: false } });
});

/** Signs in and returns the response, for its cookies. @param jar the browser's cookies at the provider. */
async function enterWithCookies(subject: string, jar?: Map<string, string>): Promise<Response> {
  const { url, cookie } = await start();
  const callback = await passProvider(url, subject, jar);
  return await fetch(new URL("/trpc/session.signInWithOpenid", baseUrl), {
    method: "POST",
    headers: { "Content-Type": "application/json", Cookie: cookie },
    body: JSON.stringify(Object.fromEntries(callback.searchParams)),
  });
}

function readSession(response: Response): string {
  const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(";")[0] ?? "");
  return cookies.find((cookie) => cookie.startsWith("latchkey-session")) ?? "";
}

/** Completes a sign-in that waits for its second factor. @param pending the response that started it. */
async function enterCode(pending: Response, code: string): Promise<Response> {
  const cookies = pending.headers.getSetCookie().map((cookie) => cookie.split(";")[0]);
  return await fetch(new URL("/trpc/session.enterCode", baseUrl), {
    method: "POST",
    headers: { "Content-Type": "application/json", Cookie: cookies.join("; ") },
    body: JSON.stringify({ code }),
  });
}

test("a user with a second factor enters it after the provider, and for a confirmation too", async () => {
  provider.setClaims("careful", { email: "careful@example.com", isEmailVerified: true });
  const first = readSession(await enterWithCookies("careful"));
  const call = (path: string, cookie: string, input: unknown = {}) =>
    callProcedure(baseUrl, { path, kind: "mutation", input, cookie });
  const created = await call("factors.createTotp", first);
  const { secret } = created.data as { secret: string }; // The router's type for this procedure.
  expect(await call("factors.enableTotp", first, { code: await createCode(secret) })).toMatchObject({
    status: 200,
  });

  const response = await enterWithCookies("careful");
  expect(await response.json()).toMatchObject({ result: { data: { secondFactor: { hasTotp: true } } } });
  expect(readSession(response)).toBe("");
  expect(readSession(await enterCode(response, await createCode(secret)))).not.toBe("");

  const confirm = async (subject: string, factorCode: string) => {
    const started = await call("account.startOpenid", first, { use: "confirmation" });
    const { url } = started.data as { url: string }; // The router's type for this procedure.
    const { code, state, iss } = Object.fromEntries((await passProvider(url, subject)).searchParams);
    const cookie = `${first}; ${started.cookie}`;
    const withoutCode = await call("account.confirmOpenid", cookie, { code, state, iss });
    expect(withoutCode).toMatchObject({ code: "BAD_REQUEST" });
    return await call("account.confirmOpenid", cookie, { code, state, iss, factorCode });
  };
  // A rejected confirmation leaves the code valid.
  const code = await createCode(secret);
  expect(await confirm("somebody-else", code)).toMatchObject({ code: "FORBIDDEN" });
  expect(await confirm("careful", code)).toMatchObject({ status: 200 });
});

test("linking and unlinking an identity require recent authentication", async () => {
  const { cookie: session, email } = await signUp(baseUrl, "linking@example.com");
  provider.setClaims("linked", { email: "linked@example.com", isEmailVerified: true });
  const call = (path: string, input: unknown = {}, cookie = session) =>
    callProcedure(baseUrl, { path, kind: "mutation", input, cookie });
  const setAge = (minutes: number) =>
    database.query(
      `update sessions set authenticated_at = clock_timestamp() - make_interval(mins => $2)
      where user_id = (select id from users where email = $1)`,
      [email, minutes],
    );
  const countIdentities = async () => {
    const query = "select 1 from identities join users on users.id = user_id where users.email = $1";
    return (await database.query(query, [email])).rows.length;
  };
  const startLink = () => call("account.startOpenid", { use: "link" });
  await setAge(16);
  expect(await startLink()).toMatchObject({ code: "FORBIDDEN" });
  await setAge(0);
  const { data, cookie } = await startLink();
  const { url } = data as { url: string }; // The router's type for this procedure.
  const { code, state, iss } = Object.fromEntries((await passProvider(url, "linked")).searchParams);
  const link = () => call("account.linkOpenid", { code, state, iss }, `${session}; ${cookie}`);
  // The authentication becomes too old while the user is at the provider.
  await setAge(16);
  expect(await link()).toMatchObject({ code: "FORBIDDEN" });
  expect(await countIdentities()).toBe(0);
  await setAge(0);
  expect(await link()).toMatchObject({ status: 200 });
  await setAge(16);
  expect(await call("account.unlinkOpenid")).toMatchObject({ code: "FORBIDDEN" });
  expect(await countIdentities()).toBe(1);
  await setAge(0);
  expect(await call("account.unlinkOpenid")).toMatchObject({ status: 200 });
  expect(await countIdentities()).toBe(0);
});

/** Links an identity with the account of a session. */
async function link(session: string, subject: string): Promise<Answer> {
  const call = { path: "account.startOpenid", kind: "mutation", input: { use: "link" } } as const;
  const { data, cookie } = await callProcedure(baseUrl, { ...call, cookie: session });
  const { url } = data as { url: string }; // The router's type for this procedure.
  const input = Object.fromEntries((await passProvider(url, subject)).searchParams);
  const cookies = `${session}; ${cookie}`;
  return await callProcedure(baseUrl, {
    path: "account.linkOpenid",
    kind: "mutation",
    input,
    cookie: cookies,
  });
}

test("an identity can't be linked beyond the quota of links", async () => {
  const { cookie, email } = await signUp(baseUrl, "changing@example.com");
  provider.setClaims("changing", { email, isEmailVerified: true });
  const bucket =
    "(select sha256(convert_to('identity links of ' || id, 'UTF8')) from users where email = $1)";
  const insert = `insert into throttle_buckets values (${bucket}, now() + interval '2 hours')`;
  await database.query(insert, [email]);
  await database.query("update users set email_verified = true where email = $1", [email]);
  const tooMany = { code: "TOO_MANY_REQUESTS" };
  expect(await link(cookie, "changing")).toMatchObject(tooMany);
  expect(await enter("changing")).toMatchObject(tooMany);
  await database.query(`delete from throttle_buckets where digest = ${bucket}`, [email]);
  expect(await link(cookie, "changing")).toMatchObject({ status: 200 });
});

test("unlinking an identity ends the sessions and the pending sign-ins that it opened", async () => {
  const account = await signUp(baseUrl, "victim@example.com");
  const call = (path: string, input: unknown = {}, cookie = account.cookie) =>
    callProcedure(baseUrl, { path, kind: "mutation", input, cookie });
  expect(await link(account.cookie, "stolen")).toMatchObject({ status: 200 });
  const opened = { ...account, cookie: readSession(await enterWithCookies("stolen")) };
  expect(await findSignedIn(baseUrl, opened)).toBe(account.email);
  expect(await call("account.unlinkOpenid")).toMatchObject({ status: 200 });
  expect(await findSignedIn(baseUrl, opened)).toBeUndefined();
  expect(await findSignedIn(baseUrl, account)).toBe(account.email);

  expect(await link(account.cookie, "stolen")).toMatchObject({ status: 200 });
  const { secret } = (await call("factors.createTotp")).data as { secret: string }; // The router's type.
  expect(await call("factors.enableTotp", { code: await createCode(secret) })).toMatchObject({ status: 200 });
  const pending = await enterWithCookies("stolen");
  expect(await call("account.unlinkOpenid")).toMatchObject({ status: 200 });
  expect((await enterCode(pending, await createCode(secret))).status).toBe(401);
});

test.each([
  ["Grace@Example.com", "grace@example.com"],
  [`${"a".repeat(50_000)}@example.com`, null],
  ["no email address", null],
])("a linked identity is stored with its email address if it is valid", async (email, stored) => {
  const account = await signUp(baseUrl, `linker-${email.length}@example.com`);
  const subject = `linker-${email.length}`;
  provider.setClaims(subject, { email, isEmailVerified: false });
  expect(await link(account.cookie, subject)).toMatchObject({ status: 200 });
  const { rows } = await database.query("select email from identities where subject = $1", [subject]);
  expect(rows).toEqual([{ email: stored }]);
});

test("user unlink-identity ends all sessions of the user", async () => {
  provider.setClaims("mixed-up", { email: "mixed-up@example.com", isEmailVerified: true });
  const opened = {
    email: "mixed-up@example.com",
    password: "",
    cookie: readSession(await enterWithCookies("mixed-up")),
  };
  expect(await findSignedIn(baseUrl, opened)).toBe(opened.email);
  expect(await instance.command(["user", "unlink-identity", opened.email])).toMatchObject({ status: 0 });
  expect(await findSignedIn(baseUrl, opened)).toBeUndefined();
});

test("a sign-in with an older session at the provider doesn't allow sensitive changes", async () => {
  provider.setClaims("returning", { email: "returning@example.com", isEmailVerified: true });
  const jar = new Map<string, string>();
  const enterAgain = async () => {
    const cookie = readSession(await enterWithCookies("returning", jar));
    const input = { name: "CI" };
    return await callProcedure(baseUrl, { path: "apiKeys.create", kind: "mutation", input, cookie });
  };
  // The provider is in this process, and the product isn't.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 16 * 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  await passProvider((await start()).url, "returning", jar);
  vi.useRealTimers();
  // A new account has nothing to protect.
  expect(await enterAgain()).toMatchObject({ status: 200 });
  expect(await enterAgain()).toMatchObject({ code: "FORBIDDEN" });
  jar.clear();
  expect(await enterAgain()).toMatchObject({ status: 200 });
});

test("a code after an older session at the provider doesn't allow sensitive changes", async () => {
  provider.setClaims("twofold", { email: "twofold@example.com", isEmailVerified: true });
  const call = (path: string, cookie: string, input: unknown = {}) =>
    callProcedure(baseUrl, { path, kind: "mutation", input, cookie });
  const first = readSession(await enterWithCookies("twofold"));
  const { secret } = (await call("factors.createTotp", first)).data as { secret: string }; // The router's type.
  expect(await call("factors.enableTotp", first, { code: await createCode(secret) })).toMatchObject({
    status: 200,
  });
  const jar = new Map<string, string>();
  const createKey = async (code: string) => {
    const entered = await enterCode(await enterWithCookies("twofold", jar), code);
    return await call("apiKeys.create", readSession(entered), { name: "CI" });
  };
  // The provider is in this process, and the product isn't.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 16 * 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  await passProvider((await start()).url, "twofold", jar);
  vi.useRealTimers();
  expect(await createKey(await createCode(secret))).toMatchObject({ code: "FORBIDDEN" });
  jar.clear();
  expect(await createKey(await createCode(secret))).toMatchObject({ status: 200 });
});

test("a provider that ignores prompt=login doesn't confirm anybody", async () => {
  provider.setClaims("lingering", { email: "lingering@example.com", isEmailVerified: true });
  const session = readSession(await enterWithCookies("lingering"));
  /** @param minutesAgo when the person authenticated at the provider. */
  const confirm = async (minutesAgo: number) => {
    const jar = new Map<string, string>();
    // The provider is in this process, and the product isn't.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - minutesAgo * 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    await passProvider((await start()).url, "lingering", jar);
    vi.useRealTimers();
    const call = { path: "account.startOpenid", kind: "mutation", cookie: session } as const;
    const { data, cookie } = await callProcedure(baseUrl, { ...call, input: { use: "confirmation" } });
    const url = new URL((data as { url: string }).url); // The router's type for this procedure.
    expect(url.searchParams.get("prompt")).toBe("login");
    for (const parameter of ["prompt", "max_age"]) url.searchParams.delete(parameter);
    const { code, state, iss } = Object.fromEntries(
      (await passProvider(url.href, "lingering", jar)).searchParams,
    );
    const input = { code, state, iss };
    const completion = { path: "account.confirmOpenid", kind: "mutation", input } as const;
    return await callProcedure(baseUrl, { ...completion, cookie: `${session}; ${cookie}` });
  };
  // The second one is recent enough for a sensitive change, but is not a new authentication.
  for (const minutesAgo of [16, 2]) expect(await confirm(minutesAgo)).toMatchObject({ code: "UNAUTHORIZED" });
  expect(await confirm(0)).toMatchObject({ status: 200 });
});

test("starts are throttled per network, and a response without an attempt makes no request to the provider", async () => {
  const account = await signUp(baseUrl, "impatient@example.com");
  const before = provider.countRequests();
  const input = { code: "code", state: "state" };
  for (const cookie of ["", "latchkey-openid=unknown"]) {
    const call = { path: "session.signInWithOpenid", kind: "mutation", input, cookie } as const;
    expect(await callProcedure(baseUrl, call)).toMatchObject({ code: "UNAUTHORIZED" });
  }
  expect(provider.countRequests()).toBe(before);
  onTestFinished(async () => {
    await database.query("delete from throttle_buckets");
  });
  const call = { path: "session.startOpenid", kind: "mutation" } as const;
  const answers: Answer[] = [];
  while (answers.at(-1)?.status !== 429 && answers.length < 200)
    answers.push(await callProcedure(baseUrl, call));
  expect(answers.at(-1)).toMatchObject({ code: "TOO_MANY_REQUESTS", cookie: undefined });
  // On a busy machine, the network would otherwise get another attempt before the next call.
  await database.query("update throttle_buckets set full_at = full_at + interval '1 hour'");
  // Linking and confirming count as well.
  for (const use of ["link", "confirmation"]) {
    const { cookie } = account;
    const started = { path: "account.startOpenid", kind: "mutation", input: { use }, cookie } as const;
    expect(await callProcedure(baseUrl, started)).toMatchObject({ code: "TOO_MANY_REQUESTS" });
  }
});

test("a provider whose configuration names another issuer is not used", async () => {
  const impostor = await startImpostor("https://id.example.com");
  onTestFinished(impostor.stop);
  await restart({ OIDC_ISSUER: impostor.issuer });
  expect(await callProcedure(baseUrl, { path: "session.startOpenid", kind: "mutation" })).toMatchObject({
    code: "CONFLICT",
    cookie: undefined,
  });
  expect(impostor.requests).toEqual(["/.well-known/openid-configuration"]);
  expect(node.output()).toContain("the OpenID provider could not be used");
});

test("an instance with REGISTRATION=invite accepts only people with an invitation for their verified email address", async () => {
  const inviter = await signUp(baseUrl, "inviter@example.com");
  const { data } = await callProcedure(baseUrl, {
    path: "session.current",
    kind: "query",
    cookie: inviter.cookie,
  });
  const workspaceId = (data as { workspaces: readonly { id: string }[] }).workspaces[0]?.id;
  const invite = async (email: string) => {
    const input = { workspaceId, email, role: "member" };
    const call = { path: "invitations.create", kind: "mutation", input, cookie: inviter.cookie } as const;
    const { url } = (await callProcedure(baseUrl, call)).data as { url: string }; // The router's type.
    return url.split("#")[1] ?? "";
  };
  const invitation = await invite("invited@example.com");
  await restart({ REGISTRATION: "invite" });
  provider.setClaims("invited", { email: "invited@example.com", isEmailVerified: true });
  provider.setClaims("stranger", { email: "stranger@example.com", isEmailVerified: true });
  const join = async (subject: string, token?: string) => {
    const { url, cookie } = await start();
    return await complete(cookie, await passProvider(url, subject), token ? { invitation: token } : {});
  };
  expect(await join("stranger")).toMatchObject({ code: "FORBIDDEN" });
  expect(await join("stranger", invitation)).toMatchObject({ code: "FORBIDDEN" });
  expect(await join("invited", "unknown")).toMatchObject({ code: "NOT_FOUND" });
  expect(await join("invited")).toMatchObject({ code: "FORBIDDEN" });
  expect(await countUsers("stranger@example.com")).toBe(0);
  const joined = await join("invited", invitation);
  expect(joined).toMatchObject({
    data: { isNewAccount: true, session: { workspaces: [{ id: workspaceId }] } },
  });
  expect(await join("ada")).toMatchObject({ data: { isNewAccount: false } });
});

test("while the provider is down, the node works, and the sign-in page gets a message", async () => {
  await provider.stop();
  await restart();
  const call = { path: "session.startOpenid", kind: "mutation" } as const;
  expect(await callProcedure(baseUrl, call)).toMatchObject({ code: "CONFLICT", cookie: undefined });
  expect(node.output()).toContain("the OpenID provider could not be used");
  expect(await findSignedIn(baseUrl, await signUp(baseUrl, "later@example.com"))).toBe("later@example.com");
});
