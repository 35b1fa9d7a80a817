// Passkeys in the web app, with an authenticator in memory.
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createSoftwarePasskey } from "./software-passkey.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
let origin: string;
beforeAll(async () => {
  app = await startTestApp();
  origin = app.baseUrl.replace("127.0.0.1", "localhost");
});
afterAll(() => app.close());

type Opened = ReturnType<typeof openClient>;

async function signIn(email: string): Promise<Opened> {
  const opened = openClient(app.baseUrl);
  await opened.client.session.signIn.mutate({ email, password });
  return opened;
}

async function addPasskey({ client }: Pick<Opened, "client">, name = "Laptop") {
  const passkey = createSoftwarePasskey(origin);
  const response = passkey.register(await client.factors.startPasskey.mutate());
  const { recoveryCodes } = await client.factors.addPasskey.mutate({ name, response });
  return { passkey, recoveryCodes };
}

/** A user with a passkey, and the session in which it was created. */
async function addPasskeyUser() {
  const { userId, email } = await app.addUser();
  const opened = await signIn(email);
  return { userId, email, ...opened, ...(await addPasskey(opened)) };
}

type SoftwarePasskey = ReturnType<typeof createSoftwarePasskey>;

async function signInWith(
  passkey: SoftwarePasskey,
  options?: Parameters<SoftwarePasskey["authenticate"]>[1],
): Promise<Opened> {
  const opened = openClient(app.baseUrl);
  const challenge = await opened.client.session.startPasskey.mutate({ isSecondFactor: false });
  const response = passkey.authenticate(challenge, options);
  await opened.client.session.signInWithPasskey.mutate({ response });
  return opened;
}

const rejected = { data: { code: "UNAUTHORIZED" }, message: expect.stringContaining("can’t be used") };

async function ageSessions(): Promise<void> {
  await sql`update sessions set created_at = created_at - interval '901 s', authenticated_at = null`.execute(
    app.owner,
  );
}

test("a passkey is added with its name, ends the other sessions, and comes with recovery codes", async () => {
  const { email } = await app.addUser();
  const [opened, other] = [await signIn(email), await signIn(email)];
  const options = await opened.client.factors.startPasskey.mutate();
  expect(options).toMatchObject({
    rp: { id: "localhost" },
    user: { name: email },
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    excludeCredentials: [],
  });
  const passkey = createSoftwarePasskey(origin);
  const response = passkey.register(options);
  const { recoveryCodes } = await opened.client.factors.addPasskey.mutate({ name: " Laptop ", response });
  expect(recoveryCodes).toHaveLength(10);
  expect(await opened.client.factors.get.query()).toMatchObject({
    totpSince: null,
    recoveryCodeCount: 10,
    passkeys: [{ name: "Laptop", lastUsedAt: null }],
  });
  expect(await other.client.session.current.query()).toBeNull();
  // A second passkey comes without recovery codes, and excludes the first.
  const next = await opened.client.factors.startPasskey.mutate();
  expect(next.excludeCredentials).toMatchObject([{ id: passkey.id }]);
  expect((await addPasskey(opened, "Phone")).recoveryCodes).toBeNull();
  const { items } = await opened.client.securityLog.list.query({});
  expect(items.filter(({ action }) => action === "passkey.added").map(({ after }) => after)).toEqual([
    { name: "Phone" },
    { name: "Laptop" },
  ]);
});

describe("a registration is rejected", () => {
  const invalid = { data: { code: "BAD_REQUEST" } };

  test.each([
    ["without user verification", { isVerified: false }],
    ["from another origin", { from: "https://evil.example" }],
    ["from a frame", { frame: { crossOrigin: true } }],
    ["from a frame of a known page", { frame: { crossOrigin: true, topOrigin: "https://evil.example" } }],
  ])("%s", async (_name, options) => {
    const { email } = await app.addUser();
    const { client } = await signIn(email);
    const response = createSoftwarePasskey(origin).register(
      await client.factors.startPasskey.mutate(),
      options,
    );
    await expect(client.factors.addPasskey.mutate({ name: "Laptop", response })).rejects.toMatchObject(
      invalid,
    );
    expect((await client.factors.get.query()).passkeys).toEqual([]);
  });

  test("for another host, with a challenge of another session, an expired or a used one", async () => {
    const { email } = await app.addUser();
    const [{ client }, other] = [await signIn(email), await signIn(email)];
    const add = (response: ReturnType<SoftwarePasskey["register"]>) =>
      client.factors.addPasskey.mutate({ name: "Laptop", response });
    const start = () => client.factors.startPasskey.mutate();
    await expect(
      add(createSoftwarePasskey(origin, "evil.example").register(await start())),
    ).rejects.toMatchObject(invalid);
    const foreign = await other.client.factors.startPasskey.mutate();
    await expect(add(createSoftwarePasskey(origin).register(foreign))).rejects.toMatchObject(invalid);
    const expired = await start();
    await sql`update verifications set expires_at = clock_timestamp()`.execute(app.owner);
    await expect(add(createSoftwarePasskey(origin).register(expired))).rejects.toMatchObject(invalid);
    const used = await start();
    await add(createSoftwarePasskey(origin).register(used));
    await expect(add(createSoftwarePasskey(origin).register(used))).rejects.toMatchObject(invalid);
  });

  test("for a passkey that is already registered, and beyond 20 passkeys", async () => {
    const { userId, passkey, client } = await addPasskeyUser();
    const again = passkey.register(await client.factors.startPasskey.mutate());
    await expect(client.factors.addPasskey.mutate({ name: "Copy", response: again })).rejects.toMatchObject({
      data: { code: "CONFLICT" },
    });
    const response = createSoftwarePasskey(origin).register(await client.factors.startPasskey.mutate());
    await sql`
      insert into passkeys (id, user_id, credential_id, public_key, sign_count, transports, name)
      select gen_random_uuid(), ${userId}, gen_random_uuid()::text, '', 0, '{}', 'x' from generate_series(1, 19)`.execute(
      app.owner,
    );
    await expect(client.factors.addPasskey.mutate({ name: "More", response })).rejects.toMatchObject({
      data: { code: "CONFLICT" },
    });
    await expect(client.factors.startPasskey.mutate()).rejects.toMatchObject({ data: { code: "CONFLICT" } });
  });
});

describe("a sign-in with a passkey", () => {
  test("needs no password, counts as a second factor, and records the use", async () => {
    const { email, passkey } = await addPasskeyUser();
    const { client, jar } = await signInWith(passkey);
    expect((await client.session.current.query())?.user.email).toBe(email);
    expect(jar.has("latchkey-passkey")).toBe(false);
    const [listed] = (await client.factors.get.query()).passkeys;
    expect(Date.parse(listed?.lastUsedAt ?? "")).toBeGreaterThan(0);
    const { items } = await client.securityLog.list.query({});
    expect(items[0]).toMatchObject({ action: "sign-in.succeeded", after: { factor: "passkey" } });
    await client.apiKeys.create.mutate({ name: "A passkey counts as recent authentication" });
  });

  test.each([
    ["without user verification", { isVerified: false }],
    ["from another origin", { from: "https://evil.example" }],
    ["from a frame", { frame: { crossOrigin: true } }],
    ["from a frame of a known page", { frame: { crossOrigin: true, topOrigin: "https://evil.example" } }],
  ])("is rejected %s, and recorded", async (_name, options) => {
    const { passkey, client } = await addPasskeyUser();
    await expect(signInWith(passkey, options)).rejects.toMatchObject(rejected);
    const { items } = await client.securityLog.list.query({});
    expect(items[0]).toMatchObject({ action: "sign-in.failed", actor: { kind: "unknown" } });
  });

  test("that answers no challenge of this browser is not recorded in the security log", async () => {
    const { passkey, client } = await addPasskeyUser();
    const { items: before } = await client.securityLog.list.query({});
    const visitor = openClient(app.baseUrl);
    const send = (challenge: { readonly challenge: string }) =>
      visitor.client.session.signInWithPasskey.mutate({ response: passkey.authenticate(challenge) });
    await expect(send({ challenge: "AAAA" })).rejects.toMatchObject(rejected);
    const challenge = await openClient(app.baseUrl).client.session.startPasskey.mutate({
      isSecondFactor: false,
    });
    await visitor.client.session.startPasskey.mutate({ isSecondFactor: false });
    await expect(send(challenge)).rejects.toMatchObject(rejected);
    expect((await client.securityLog.list.query({})).items).toEqual(before);
  });

  test("answers one challenge once, in the browser that asked for it", async () => {
    const { passkey } = await addPasskeyUser();
    const [opened, other] = [openClient(app.baseUrl), openClient(app.baseUrl)];
    const challenge = await opened.client.session.startPasskey.mutate({ isSecondFactor: false });
    await other.client.session.startPasskey.mutate({ isSecondFactor: false });
    await expect(
      other.client.session.signInWithPasskey.mutate({ response: passkey.authenticate(challenge) }),
    ).rejects.toMatchObject(rejected);
    const copies = Array.from({ length: 10 }, () => openClient(app.baseUrl));
    for (const { jar } of copies) jar.set("latchkey-passkey", opened.jar.get("latchkey-passkey") ?? "");
    const responses = copies.map(() => passkey.authenticate(challenge));
    const outcomes = await Promise.allSettled(
      copies.map(({ client }, index) =>
        client.session.signInWithPasskey.mutate({
          response: responses[index] ?? passkey.authenticate(challenge),
        }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
  });

  test("is rejected for a copied authenticator, an unknown passkey and a disabled user", async () => {
    const { userId, passkey } = await addPasskeyUser();
    await signInWith(passkey);
    passkey.setSignCount(1);
    await expect(signInWith(passkey)).rejects.toMatchObject(rejected);
    await expect(signInWith(createSoftwarePasskey(origin))).rejects.toMatchObject(rejected);
    passkey.setSignCount(100);
    await app.disableUser(userId);
    await expect(signInWith(passkey)).rejects.toMatchObject(rejected);
  });

  test("completes a sign-in with the password, which asks for it", async () => {
    const { email, passkey, recoveryCodes } = await addPasskeyUser();
    const opened = openClient(app.baseUrl);
    expect(await opened.client.session.signIn.mutate({ email, password })).toEqual({
      secondFactor: { hasTotp: false, hasPasskeys: true },
    });
    expect(await opened.client.session.current.query()).toBeNull();
    const options = await opened.client.session.startPasskey.mutate({ isSecondFactor: true });
    expect(options.allowCredentials).toMatchObject([{ id: passkey.id }]);
    await opened.client.session.signInWithPasskey.mutate({ response: passkey.authenticate(options) });
    expect((await opened.client.session.current.query())?.user.email).toBe(email);
    // A recovery code replaces a lost passkey.
    const other = await signIn(email);
    await other.client.session.enterCode.mutate({ code: recoveryCodes?.[0] ?? "" });
    expect((await other.client.session.current.query())?.user.email).toBe(email);
    // Without a pending sign-in, the passkeys of no user are revealed.
    await expect(
      openClient(app.baseUrl).client.session.startPasskey.mutate({ isSecondFactor: true }),
    ).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
  });
});

test("a passkey confirms a sensitive change, only of its own user and session", async () => {
  const { passkey, client } = await addPasskeyUser();
  const other = await addPasskeyUser();
  await ageSessions();
  const required = { data: { issues: [{ code: "reauthentication_required" }] } };
  await expect(client.apiKeys.create.mutate({ name: "Late" })).rejects.toMatchObject(required);
  const foreign = other.passkey.authenticate(await client.account.startPasskey.mutate());
  await expect(client.account.confirmPasskey.mutate({ response: foreign })).rejects.toMatchObject({
    data: { code: "BAD_REQUEST" },
  });
  const elsewhere = passkey.authenticate(await other.client.account.startPasskey.mutate());
  await expect(client.account.confirmPasskey.mutate({ response: elsewhere })).rejects.toMatchObject({
    data: { code: "BAD_REQUEST" },
  });
  await expect(client.account.confirmPassword.mutate({ password })).rejects.toMatchObject({
    data: { issues: [{ path: "code", code: "required" }] },
  });
  const response = passkey.authenticate(await client.account.startPasskey.mutate());
  await client.account.confirmPasskey.mutate({ response });
  await client.apiKeys.create.mutate({ name: "Late" });
});

test("passkeys are renamed and removed by their user only", async () => {
  const { email, client } = await addPasskeyUser();
  const other = await addPasskeyUser();
  const id = (await client.factors.get.query()).passkeys[0]?.id ?? "";
  const absent = { data: { code: "NOT_FOUND" } };
  await expect(other.client.factors.renamePasskey.mutate({ id, name: "Mine" })).rejects.toMatchObject(absent);
  await expect(other.client.factors.removePasskey.mutate({ id })).rejects.toMatchObject(absent);
  await client.factors.renamePasskey.mutate({ id, name: "Work laptop" });
  expect((await client.factors.get.query()).passkeys).toMatchObject([{ name: "Work laptop" }]);
  await ageSessions();
  await expect(client.factors.removePasskey.mutate({ id })).rejects.toMatchObject({
    data: { issues: [{ code: "reauthentication_required" }] },
  });
  await expect(client.factors.startPasskey.mutate()).rejects.toMatchObject({
    data: { issues: [{ code: "reauthentication_required" }] },
  });
  await sql`update sessions set authenticated_at = clock_timestamp()`.execute(app.owner);
  await client.factors.removePasskey.mutate({ id });
  expect(await client.factors.get.query()).toMatchObject({ passkeys: [], recoveryCodeCount: 0 });
  const { items } = await client.securityLog.list.query({});
  expect(items.slice(0, 2)).toMatchObject([
    { action: "passkey.removed", before: { name: "Work laptop" } },
    { action: "passkey.renamed", before: { name: "Laptop" }, after: { name: "Work laptop" } },
  ]);
  const opened = await signIn(email);
  expect((await opened.client.session.current.query())?.user.email).toBe(email);
});

const invented = createSoftwarePasskey("http://localhost").authenticate({ challenge: "AAAA" });

test.each([
  ["challenges", ({ client }: Opened) => client.session.startPasskey.mutate({ isSecondFactor: false })],
  ["responses", ({ client }: Opened) => client.session.signInWithPasskey.mutate({ response: invented })],
])("%s are limited per network", async (_what, call) => {
  const opened = openClient(app.baseUrl);
  const forgetAttempts = async () => {
    await sql`truncate throttle_buckets`.execute(app.owner);
  };
  await forgetAttempts();
  onTestFinished(forgetAttempts);
  const outcomes: string[] = [];
  // There are 60, and on a busy machine one more every five seconds.
  for (let count = 1; count <= 200 && outcomes.at(-1) !== "TOO_MANY_REQUESTS"; count += 1)
    outcomes.push(
      await call(opened).then(
        () => "ok",
        (error: { data: { code: string } }) => error.data.code,
      ),
    );
  expect(outcomes.at(-1)).toBe("TOO_MANY_REQUESTS");
  expect(outcomes.length).toBeGreaterThan(60);
});

test("at most 10 challenges for registrations are stored per user, and the newest ones work", async () => {
  const { userId, email } = await app.addUser();
  const { client } = await signIn(email);
  const other = await signIn(email);
  for (let call = 1; call <= 12; call += 1) await client.factors.startPasskey.mutate();
  const newest = await client.factors.startPasskey.mutate();
  for (let call = 1; call <= 9; call += 1) await other.client.factors.startPasskey.mutate();
  const { rows } = await sql`select from verifications where value like ${`${userId} %`}`.execute(app.owner);
  expect(rows).toHaveLength(10);
  const response = createSoftwarePasskey(origin).register(newest);
  await client.factors.addPasskey.mutate({ name: "Laptop", response });
});

test("an instance without passkey support rejects passkeys, and reports to the web app that it has none", async () => {
  const plain = await startTestApp({ publicUrl: "http://192.0.2.1:4000" });
  try {
    const { client } = openClient(plain.baseUrl, { Host: "192.0.2.1:4000" });
    expect((await client.instance.get.query()).passkeyOrigin).toBeNull();
    await expect(client.session.startPasskey.mutate({ isSecondFactor: false })).rejects.toMatchObject({
      data: { code: "CONFLICT" },
    });
  } finally {
    await plain.close();
  }
});
