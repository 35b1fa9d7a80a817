// How users turn notices on and off in the web app, and what their security log says about it.

import type { UserId } from "@latchkey/db/ids";
import { type NoticeKind, noticeKinds, securityNoticeKinds } from "@latchkey/db/notice-kinds";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ sendsEmail: true });
});
afterAll(() => app.close());

const otherKinds = noticeKinds.filter(
  (kind) => !(securityNoticeKinds as readonly NoticeKind[]).includes(kind),
);

async function addSignedInUser() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const readSetting = async (kind: NoticeKind) =>
    (await client.notices.settings.query()).kinds.find((setting) => setting.kind === kind);
  const readEvents = async () =>
    (await client.securityLog.list.query({ action: "notice-setting.changed" })).items;
  return { userId, client, readSetting, readEvents };
}

/** Moves the last authentication of a user's sessions into the past. */
async function ageSessions(userId: UserId): Promise<void> {
  await sql`
    update sessions set created_at = created_at - interval '901 s', authenticated_at = null
    where user_id = ${userId}`.execute(app.owner);
}

const reauthenticationRequired = {
  data: { code: "FORBIDDEN", issues: [{ code: "reauthentication_required" }] },
};

test.each(securityNoticeKinds)("turning off %s requires recent authentication", async (kind) => {
  const { userId, client, readSetting, readEvents } = await addSignedInUser();
  await ageSessions(userId);
  for (const change of [{ inApp: false }, { byEmail: false }, { inApp: true, byEmail: false }]) {
    await expect(client.notices.changeSetting.mutate({ kind, ...change })).rejects.toMatchObject(
      reauthenticationRequired,
    );
  }
  expect(await readSetting(kind)).toEqual({ kind, inApp: true, byEmail: true });
  expect(await readEvents()).toEqual([]);

  await client.account.confirmPassword.mutate({ password });
  await client.notices.changeSetting.mutate({ kind, inApp: false, byEmail: false });
  expect(await readSetting(kind)).toEqual({ kind, inApp: false, byEmail: false });

  // Turning it on, and turning off what is off, require nothing.
  await ageSessions(userId);
  await client.notices.changeSetting.mutate({ kind, inApp: false });
  await client.notices.changeSetting.mutate({ kind, inApp: true });
  expect(await readSetting(kind)).toEqual({ kind, inApp: true, byEmail: false });
  // A change that turns on one channel and turns off the other turns a notice off too.
  await expect(
    client.notices.changeSetting.mutate({ kind, inApp: false, byEmail: true }),
  ).rejects.toMatchObject(reauthenticationRequired);
});

test.each(otherKinds)("turning off %s requires no recent authentication", async (kind) => {
  const { userId, client, readSetting } = await addSignedInUser();
  await ageSessions(userId);
  await client.notices.changeSetting.mutate({ kind, inApp: false, byEmail: false });
  expect(await readSetting(kind)).toEqual({ kind, inApp: false, byEmail: false });
});

test("each change of a setting is in the security log, with the values that changed", async () => {
  const { client, readEvents } = await addSignedInUser();
  await client.notices.changeSetting.mutate({ kind: "new-device", byEmail: false });
  await client.notices.changeSetting.mutate({ kind: "new-device", byEmail: false });
  await client.notices.changeSetting.mutate({ kind: "new-device", inApp: false, byEmail: true });
  await client.notices.changeSetting.mutate({ kind: "invitation", inApp: false, byEmail: true });
  const events = await readEvents();
  expect(events.map(({ before, after }) => ({ before, after }))).toEqual([
    { before: { kind: "invitation", inApp: true }, after: { kind: "invitation", inApp: false } },
    {
      before: { kind: "new-device", inApp: true, byEmail: false },
      after: { kind: "new-device", inApp: false, byEmail: true },
    },
    { before: { kind: "new-device", byEmail: true }, after: { kind: "new-device", byEmail: false } },
  ]);
  expect(events[0]).toMatchObject({ actor: { kind: "session" }, address: "127.0.0.1" });
});

test("of concurrent changes to the channels of a notice, none is lost", async () => {
  const { client, readSetting, readEvents } = await addSignedInUser();
  await Promise.all([
    client.notices.changeSetting.mutate({ kind: "new-network", inApp: false }),
    client.notices.changeSetting.mutate({ kind: "new-network", byEmail: false }),
  ]);
  expect(await readSetting("new-network")).toEqual({ kind: "new-network", inApp: false, byEmail: false });
  expect(await readEvents()).toHaveLength(2);
});
