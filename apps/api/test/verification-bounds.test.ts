// The longest permission queries, and several limits of which one is exceeded.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { createOpenClient } from "./open-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { send } = createOpenClient(() => app);
const { addSpace, addKey } = createIssuedKeyClient(() => app);

async function verify({ team }: Space, body: object) {
  return await send(team.owner.secret, ["POST", "/keys/verify"], body);
}

/** 50 permissions of the greatest length. */
const names = Array.from({ length: 50 }, (_, index) => `documents.${index}.`.padEnd(128, "x"));

test("a query can have 50 permissions of any length, and needs each of them", async () => {
  const space = await addSpace();
  const { secret } = await addKey(space, { permissions: names });
  const all = names.join(" AND ");
  expect((await verify(space, { key: secret, permissions: all })).body).toMatchObject({ code: "VALID" });
  const [first, ...rest] = names;
  const lacking = await addKey(space, { permissions: rest });
  const { body } = await verify(space, { key: lacking.secret, permissions: all });
  expect(body).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS" });
  // AND takes precedence: only the first permission and the second one are needed together.
  const any = `${first} AND ${rest.join(" OR ")}`;
  expect((await verify(space, { key: lacking.secret, permissions: any })).body).toMatchObject({
    code: "VALID",
  });
  const grouped = `${first} AND (${rest.join(" OR ")})`;
  expect((await verify(space, { key: lacking.secret, permissions: grouped })).body).toMatchObject({
    code: "INSUFFICIENT_PERMISSIONS",
  });
  expect((await verify(space, { key: secret, permissions: grouped })).body).toMatchObject({ code: "VALID" });
});

test("a query with 51 permissions is rejected with the position of the last one", async () => {
  const space = await addSpace();
  const { secret } = await addKey(space, { credits: { remaining: 2 } });
  const query = Array.from({ length: 51 }, () => "a").join(" OR ");
  const { status, body } = await verify(space, { key: secret, permissions: query });
  expect([status, body.error]).toMatchObject([
    400,
    { issues: [{ path: "permissions", message: "Character 251: A query can have at most 50 permissions." }] },
  ]);
  expect((await verify(space, { key: secret })).body).toMatchObject({ credits: { remaining: 1 } });
});

test("a permission of more than 128 characters is rejected with its position, although a wildcard includes it", async () => {
  const space = await addSpace();
  const { secret } = await addKey(space, { permissions: ["*"] });
  const [longest] = names;
  const { body } = await verify(space, { key: secret, permissions: longest });
  expect(body).toMatchObject({ code: "VALID" });
  const rejected = await verify(space, { key: secret, permissions: `a OR ${longest}x` });
  expect([rejected.status, rejected.body.error]).toMatchObject([
    400,
    {
      issues: [
        { path: "permissions", message: "Character 6: A permission can have at most 128 characters." },
      ],
    },
  ]);
});

test("of three limits, one of which is exceeded, none is spent, nor are credits", async () => {
  const space = await addSpace();
  const limits = (quota: number) => [
    { name: "minute", quota: 10, windowSeconds: 3_600 },
    { name: "hour", quota, windowSeconds: 3_600 },
    { name: "exports", quota: 10, windowSeconds: 3_600, appliesAlways: false },
  ];
  const { id, secret } = await addKey(space, {
    externalId: "acme",
    limits: limits(1),
    credits: { remaining: 10 },
  });
  const shared = { name: "shared", quota: 10, windowSeconds: 3_600 };
  expect((await space.send(["PATCH", "/consumers/acme"], { limits: [shared] })).status).toBe(200);
  const attempt = async () => {
    const { body } = await verify(space, { key: secret, limits: [{ name: "exports", cost: 2 }] });
    const results = body.limits as readonly { name: string; remaining: number; isExceeded: boolean }[];
    return {
      code: body.code,
      credits: (body.credits as { remaining: number }).remaining,
      remaining: Object.fromEntries(results.map(({ name, remaining }) => [name, remaining])),
      exceeded: results.filter(({ isExceeded }) => isExceeded).map(({ name }) => name),
    };
  };
  const afterFirst = { credits: 9, remaining: { minute: 9, hour: 0, exports: 8, shared: 9 } };
  expect(await attempt()).toEqual({ ...afterFirst, code: "VALID", exceeded: [] });
  for (let repetition = 0; repetition < 2; repetition += 1)
    expect(await attempt()).toEqual({ ...afterFirst, code: "RATE_LIMITED", exceeded: ["hour"] });
  expect((await space.call(["PATCH", `/${id}`], { limits: limits(2) })).status).toBe(200);
  expect(await attempt()).toEqual({
    code: "VALID",
    credits: 8,
    remaining: { minute: 8, hour: 0, exports: 6, shared: 8 },
    exceeded: [],
  });
});
