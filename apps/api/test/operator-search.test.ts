// Operators search all users and workspaces without an index (docs/decisions/0048).

import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test("with 100,000 users and 100,000 workspaces, no search exceeds the timeout of reads", async () => {
  const { email } = await app.addUser(); // The first account is an operator.
  // In parts, so that no statement takes long on a busy machine.
  for (let part = 0; part < 10; part += 1) {
    const numbers = sql`generate_series(${part}::int * 10000 + 1, ${part}::int * 10000 + 10000) n`;
    await sql`
      insert into users (id, email, name)
      select gen_random_uuid(), 'user' || n || '@example.com', 'User ' || n from ${numbers}`.execute(
      app.owner,
    );
    await sql`
      insert into workspaces (id, slug, name)
      select gen_random_uuid(), 'w-' || n, 'Workspace ' || n from ${numbers}`.execute(app.owner);
  }
  await sql`analyze users, workspaces`.execute(app.owner);
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const { users, workspaces } = client.operator;
  const searches = {
    "one user": { expected: 1, find: () => users.query({ search: "user 99999" }) },
    "all users": { expected: 100_000, find: () => users.query({ search: "user", sort: "name" }) },
    "no user": { expected: 0, find: () => users.query({ search: "nobody" }) },
    "one workspace": { expected: 1, find: () => workspaces.query({ search: "workspace 99999" }) },
    "all workspaces": { expected: 100_000, find: () => workspaces.query({ search: "w-", sort: "name" }) },
    "no workspace": { expected: 0, find: () => workspaces.query({ search: "nothing" }) },
  };
  for (const { expected, find } of Object.values(searches)) expect((await find()).total).toBe(expected);
});
