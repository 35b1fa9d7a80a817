// The second factors of a user in the web app: an authenticator app and recovery codes.
import type { UserId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { TOTP } from "otpauth";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createResetLink } from "../src/domain/password-reset.ts";
import { resetSecondFactors } from "../src/domain/second-factors.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const newPassword = "seven bridges over the river";
type Opened = ReturnType<typeof openClient>;

const codeOf = (secret: string) => new TOTP({ secret }).generate();

/** Lets tests use several codes within the 30 seconds of one. */
async function forgetUsedCodes(userId: UserId): Promise<void> {
  await sql`update totp_factors set last_step = null where user_id = ${userId}`.execute(app.owner);
}

async function signIn(email: string, opened: Opened = openClient(app.baseUrl)): Promise<Opened> {
  await opened.client.session.signIn.mutate({ email, password });
  return opened;
}

/** A user with an authenticator app, and the session in which it was set up. */
async function addTotpUser() {
  const { userId, email } = await app.addUser();
  const opened = await signIn(email);
  const { secret, url } = await opened.client.factors.createTotp.mutate();
  const { recoveryCodes } = await opened.client.factors.enableTotp.mutate({ code: codeOf(secret) });
  return { userId, email, secret, url, recoveryCodes: recoveryCodes ?? [], ...opened };
}

const readActions = async ({ client }: Pick<Opened, "client">) =>
  (await client.securityLog.list.query({})).items.map(({ action }) => action);

const wrongCode = { data: { code: "BAD_REQUEST", issues: [{ path: "code", code: "invalid_value" }] } };
const noSession = { data: { code: "UNAUTHORIZED" } };

describe("setting up an authenticator app", () => {
  test("takes effect with the first code, gives ten recovery codes once, and ends the other sessions", async () => {
    const { email } = await app.addUser();
    const [opened, other] = [await signIn(email), await signIn(email)];
    const { client } = opened;
    const first = await client.factors.createTotp.mutate();
    const { secret, url } = await client.factors.createTotp.mutate();
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(secret).not.toBe(first.secret);
    expect(url).toContain(`otpauth://totp/Latchkey%20127.0.0.1:${encodeURIComponent(email)}?`);
    expect(url).toContain(`secret=${secret}`);
    expect(await client.factors.get.query()).toMatchObject({ totpSince: null, recoveryCodeCount: 0 });
    // Without effect until the first code.
    await signIn(email);
    await expect(client.factors.enableTotp.mutate({ code: codeOf(first.secret) })).rejects.toMatchObject({
      data: {
        code: "BAD_REQUEST",
        issues: [{ path: "code", message: expect.stringContaining("opened the setup in another tab") }],
      },
    });
    const firstCode = codeOf(secret);
    const { recoveryCodes } = await client.factors.enableTotp.mutate({ code: ` ${firstCode} ` });
    expect(new Set(recoveryCodes).size).toBe(10);
    for (const code of recoveryCodes ?? [])
      expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/);
    const factors = await client.factors.get.query();
    expect(Date.parse(factors.totpSince ?? "")).toBeGreaterThan(0);
    expect(factors.recoveryCodeCount).toBe(10);
    expect((await client.session.current.query())?.user.email).toBe(email);
    expect(await other.client.session.current.query()).toBeNull();
    await expect(client.factors.createTotp.mutate()).rejects.toMatchObject({ data: { code: "CONFLICT" } });
    await expect(client.factors.enableTotp.mutate({ code: "123456" })).rejects.toMatchObject({
      data: { code: "CONFLICT" },
    });
    expect((await readActions(opened)).slice(0, 2).toSorted()).toEqual([
      "recovery-codes.created",
      "totp.enabled",
    ]);
    // The first code can't be used for a sign-in too.
    const again = await signIn(email);
    await expect(again.client.session.enterCode.mutate({ code: firstCode })).rejects.toMatchObject(wrongCode);
  });

  test("stores and logs neither the secret, nor a recovery code, nor the state of a sign-in", async () => {
    const { email, secret, recoveryCodes } = await addTotpUser();
    const opened = await signIn(email);
    const { rows } = await sql<{ row: string }>`
      select t::text as row from totp_factors t union all select r::text from recovery_codes r
      union all select v::text from verifications v union all select s::text from security_events s`.execute(
      app.owner,
    );
    const stored = rows.map(({ row }) => row).join("\n") + app.readLog();
    const token = opened.jar.get("latchkey-second-factor") ?? "";
    expect(token).toHaveLength(32);
    const hidden = [
      secret,
      token,
      ...recoveryCodes,
      ...recoveryCodes.map((code) => code.replaceAll("-", "")),
    ];
    for (const text of hidden) {
      expect(stored).not.toContain(text);
      expect(stored).not.toContain(Buffer.from(text).toString("hex"));
    }
  });

  test("requires recent authentication, as every other change of factors does", async () => {
    const { userId, client } = await addTotpUser();
    const age = (seconds: number) =>
      sql`
        update sessions set created_at = created_at - make_interval(secs => ${seconds}), authenticated_at = null
        where user_id = ${userId}`.execute(app.owner);
    await age(901);
    const calls = [
      () => client.factors.createTotp.mutate(),
      () => client.factors.enableTotp.mutate({ code: "123456" }),
      () => client.factors.disableTotp.mutate(),
      () => client.factors.createRecoveryCodes.mutate(),
    ];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({
        data: { code: "FORBIDDEN", issues: [{ code: "reauthentication_required" }] },
      });
    expect(await client.factors.get.query()).toMatchObject({ recoveryCodeCount: 10 });
  });
});

describe("a sign-in with an authenticator app", () => {
  test("opens no session before the code, and one after it", async () => {
    const { userId, email, secret } = await addTotpUser();
    const opened = openClient(app.baseUrl);
    const countSessions = async () =>
      (await sql`select from sessions where user_id = ${userId}`.execute(app.owner)).rows.length;
    expect(await opened.client.session.signIn.mutate({ email, password })).toEqual({
      secondFactor: { hasTotp: true, hasPasskeys: false },
    });
    expect(await countSessions()).toBe(1);
    expect([...opened.jar.keys()]).toEqual(["latchkey-second-factor"]);
    expect(await opened.client.session.current.query()).toBeNull();
    await forgetUsedCodes(userId);
    const session = await opened.client.session.enterCode.mutate({ code: codeOf(secret) });
    expect(session.user.email).toBe(email);
    expect((await opened.client.session.current.query())?.user.email).toBe(email);
    expect(opened.jar.has("latchkey-second-factor")).toBe(false);
    expect(await countSessions()).toBe(2);
    const { items } = await opened.client.securityLog.list.query({});
    expect(items[0]).toMatchObject({ action: "sign-in.succeeded", after: { factor: "totp" } });
  });

  test("says nothing about second factors before the password is correct", async () => {
    const { email } = await addTotpUser();
    const { client, jar } = openClient(app.baseUrl);
    await expect(client.session.signIn.mutate({ email, password: "not my password" })).rejects.toMatchObject(
      noSession,
    );
    expect(jar.size).toBe(0);
  });

  test("accepts a code once, even in 20 concurrent sign-ins", async () => {
    const { userId, email, secret } = await addTotpUser();
    const attempts: Opened[] = [];
    for (let index = 0; index < 20; index += 1) attempts.push(await signIn(email));
    await forgetUsedCodes(userId);
    const code = codeOf(secret);
    const outcomes = await Promise.allSettled(
      attempts.map(({ client }) => client.session.enterCode.mutate({ code })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("completes a pending sign-in once, in the browser that entered the password", async () => {
    const { userId, email, secret, recoveryCodes } = await addTotpUser();
    const opened = await signIn(email);
    const other = openClient(app.baseUrl);
    await forgetUsedCodes(userId);
    await expect(other.client.session.enterCode.mutate({ code: codeOf(secret) })).rejects.toMatchObject(
      noSession,
    );
    const token = opened.jar.get("latchkey-second-factor") ?? "";
    const copies = recoveryCodes.map((code) => ({ code, ...openClient(app.baseUrl) }));
    for (const { jar } of copies) jar.set("latchkey-second-factor", token);
    const outcomes = await Promise.allSettled(
      copies.map(({ client, code }) => client.session.enterCode.mutate({ code })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    // The rejected sign-ins consumed no code.
    const winner = copies[outcomes.findIndex(({ status }) => status === "fulfilled")];
    expect(await winner?.client.factors.get.query()).toMatchObject({ recoveryCodeCount: 9 });
  });

  test("expires after ten minutes", async () => {
    const { userId, email, secret } = await addTotpUser();
    const opened = await signIn(email);
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from expires_at - clock_timestamp())::float8 as seconds
      from verifications where value = ${userId}`.execute(app.owner);
    expect(rows[0]?.seconds).toBeGreaterThan(500);
    expect(rows[0]?.seconds).toBeLessThanOrEqual(600);
    await sql`update verifications set expires_at = clock_timestamp() where value = ${userId}`.execute(
      app.owner,
    );
    await forgetUsedCodes(userId);
    await expect(opened.client.session.enterCode.mutate({ code: codeOf(secret) })).rejects.toMatchObject(
      noSession,
    );
  });

  test("ends when the password changes, and fails for a disabled user", async () => {
    const { userId, email, secret, client } = await addTotpUser();
    const pending = await signIn(email);
    await client.account.changePassword.mutate({ currentPassword: password, newPassword });
    await forgetUsedCodes(userId);
    await expect(pending.client.session.enterCode.mutate({ code: codeOf(secret) })).rejects.toMatchObject(
      noSession,
    );
    const { client: visitor } = openClient(app.baseUrl);
    await visitor.session.signIn.mutate({ email, password: newPassword });
    await app.disableUser(userId);
    await expect(visitor.session.enterCode.mutate({ code: codeOf(secret) })).rejects.toMatchObject(noSession);
  });

  test("a session without the second factor is rejected, however it was opened", async () => {
    const { userId, email } = await addTotpUser();
    await sql`update sessions set has_second_factor = false where user_id = ${userId}`.execute(app.owner);
    const opened = await signIn(email);
    expect(await opened.client.session.current.query()).toBeNull();
    await expect(
      app.services.sessions.open(userId, { headers: new Headers(), address: null }),
    ).rejects.toThrow("The sign-in needs a second factor.");
  });

  test("throttles wrong codes per account, without affecting the session, and records them", async () => {
    const { userId, email, secret, client } = await addTotpUser();
    const attacker = await signIn(email);
    const codes: string[] = [];
    for (let attempt = 1; attempt <= 15 && codes.at(-1) !== "TOO_MANY_REQUESTS"; attempt += 1) {
      const error: unknown = await attacker.client.session.enterCode
        .mutate({ code: "abcdef" })
        .catch((reason: unknown) => reason);
      codes.push((error as { data: { code: string } }).data.code);
    }
    expect(codes).toEqual([...Array.from({ length: 10 }, () => "BAD_REQUEST"), "TOO_MANY_REQUESTS"]);
    await forgetUsedCodes(userId);
    await expect(attacker.client.session.enterCode.mutate({ code: codeOf(secret) })).rejects.toMatchObject({
      data: { code: "TOO_MANY_REQUESTS" },
    });
    const { items } = await client.securityLog.list.query({});
    expect(items[0]).toMatchObject({
      action: "second-factor.failed",
      actor: { kind: "unknown" },
      address: "127.0.0.1",
    });
    expect(app.readLog()).toContain("second factor failed");
    // The owner's browser, which has signed in before, has a limit of its own.
    const device = openClient(app.baseUrl);
    const known = await signInWithDevice(email);
    for (const [name, value] of known) device.jar.set(name, value);
    await signIn(email, device);
    await device.client.session.enterCode.mutate({ code: codeOf(secret) });
    expect((await device.client.session.current.query())?.user.email).toBe(email);
  });

  /** The cookie of a device on which the user has signed in before. */
  async function signInWithDevice(email: string): Promise<ReadonlyMap<string, string>> {
    const deviceId = "d".repeat(32);
    const { rows } = await sql<{ id: UserId }>`select id from users where email = ${email}`.execute(
      app.owner,
    );
    const [user] = rows;
    if (!user) throw new Error("There is no such user.");
    await app.services.signInThrottle.remember({ id: user.id, email }, { address: null, deviceId });
    return new Map([["latchkey-device", deviceId]]);
  }
});

describe("recovery codes", () => {
  test("work once, in any letter case, and are counted", async () => {
    const { email, recoveryCodes } = await addTotpUser();
    const code = recoveryCodes[0] ?? "";
    const opened = await signIn(email);
    await opened.client.session.enterCode.mutate({ code: code.toLowerCase().replaceAll("-", " ") });
    expect(await opened.client.factors.get.query()).toMatchObject({ recoveryCodeCount: 9 });
    const again = await signIn(email);
    await expect(again.client.session.enterCode.mutate({ code })).rejects.toMatchObject(wrongCode);
    expect(await readActions(opened)).toContain("recovery-code.used");
  });

  test("are replaced by new ones", async () => {
    const { email, recoveryCodes, client } = await addTotpUser();
    const next = await client.factors.createRecoveryCodes.mutate();
    expect(new Set([...next.recoveryCodes, ...recoveryCodes]).size).toBe(20);
    const opened = await signIn(email);
    await expect(
      opened.client.session.enterCode.mutate({ code: recoveryCodes[0] ?? "" }),
    ).rejects.toMatchObject(wrongCode);
    await opened.client.session.enterCode.mutate({ code: next.recoveryCodes[0] ?? "" });
  });

  test("of another user are rejected", async () => {
    const [one, other] = [await addTotpUser(), await addTotpUser()];
    const opened = await signIn(one.email);
    await expect(
      opened.client.session.enterCode.mutate({ code: other.recoveryCodes[0] ?? "" }),
    ).rejects.toMatchObject(wrongCode);
  });
});

describe("removing factors", () => {
  test("a sign-in then needs only the password, the recovery codes are deleted, and other sessions end", async () => {
    const { email, recoveryCodes, ...opened } = await addTotpUser();
    const other = await signIn(email);
    await other.client.session.enterCode.mutate({ code: recoveryCodes[0] ?? "" });
    const pending = await signIn(email);
    await opened.client.factors.disableTotp.mutate();
    expect(await opened.client.factors.get.query()).toMatchObject({ totpSince: null, recoveryCodeCount: 0 });
    expect(await other.client.session.current.query()).toBeNull();
    await expect(
      pending.client.session.enterCode.mutate({ code: recoveryCodes[1] ?? "" }),
    ).rejects.toMatchObject(noSession);
    const next = await signIn(email);
    expect((await next.client.session.current.query())?.user.email).toBe(email);
    await expect(opened.client.factors.disableTotp.mutate()).rejects.toMatchObject({
      data: { code: "NOT_FOUND" },
    });
    expect(await readActions(opened)).toContain("totp.disabled");
  });

  test("a password reset keeps second factors, so that access to the mailbox isn't enough", async () => {
    const { userId, email, secret } = await addTotpUser();
    const options = { baseUrl: app.baseUrl, lifetimeSeconds: 3_600, origin: commandOrigin };
    const { url } = await createResetLink(app.services.db, { email }, options);
    const { client } = openClient(app.baseUrl);
    const pending = await signIn(email);
    await client.session.resetPassword.mutate({ token: url.split("#")[1] ?? "", newPassword });
    await forgetUsedCodes(userId);
    await expect(pending.client.session.enterCode.mutate({ code: codeOf(secret) })).rejects.toMatchObject(
      noSession,
    );
    expect(await client.session.signIn.mutate({ email, password: newPassword })).toHaveProperty(
      "secondFactor",
    );
    expect(await client.session.current.query()).toBeNull();
    await client.session.enterCode.mutate({ code: codeOf(secret) });
    expect((await client.session.current.query())?.user.email).toBe(email);
  });

  test("the operator removes second factors and ends all sessions", async () => {
    const { userId, email, recoveryCodes, client } = await addTotpUser();
    const pending = await signIn(email);
    await resetSecondFactors(app.services.db, { email }, commandOrigin);
    expect(await client.session.current.query()).toBeNull();
    await expect(
      pending.client.session.enterCode.mutate({ code: recoveryCodes[0] ?? "" }),
    ).rejects.toMatchObject(noSession);
    const opened = await signIn(email);
    expect(await opened.client.factors.get.query()).toMatchObject({ totpSince: null, recoveryCodeCount: 0 });
    const { items } = await opened.client.securityLog.list.query({});
    expect(items[1]).toMatchObject({ action: "second-factors.reset", actor: { kind: "command" } });
    // Can be repeated.
    await resetSecondFactors(app.services.db, { id: userId }, commandOrigin);
  });
});

describe("confirming the password with an authenticator app", () => {
  test("also needs a code, and then allows sensitive changes", async () => {
    const { userId, secret, client } = await addTotpUser();
    await sql`
      update sessions set created_at = created_at - interval '901 s', authenticated_at = null
      where user_id = ${userId}`.execute(app.owner);
    await expect(client.apiKeys.create.mutate({ name: "Late" })).rejects.toMatchObject({
      data: { issues: [{ code: "reauthentication_required" }] },
    });
    await expect(client.account.confirmPassword.mutate({ password })).rejects.toMatchObject({
      data: { issues: [{ path: "code", code: "required" }] },
    });
    await expect(client.account.confirmPassword.mutate({ password, code: "000" })).rejects.toMatchObject(
      wrongCode,
    );
    await forgetUsedCodes(userId);
    const code = codeOf(secret);
    await expect(
      client.account.confirmPassword.mutate({ password: "not my password", code }),
    ).rejects.toMatchObject({ data: { issues: [{ path: "password" }] } });
    await client.account.confirmPassword.mutate({ password, code });
    await client.apiKeys.create.mutate({ name: "Late" });
    await expect(client.account.confirmPassword.mutate({ password, code })).rejects.toMatchObject(wrongCode);
  });
});
