import { sql } from "kysely";
import { expect, test } from "vitest";
import { setUpVerifierTests, verificationOf } from "./verifier.test-kit.ts";

const { addKeyspace, execute, issueKey, openNode } = setUpVerifierTests();

test("the older copy of a secret decides as soon as a use shows that the caller isn't idle in its workspace", async () => {
  const [older, space] = [await addKeyspace(), await addKeyspace()];
  const { caller } = space;
  const first = await issueKey(older);
  const second = await issueKey(space, { secret: first.secret });
  await execute(sql`
    insert into members (workspace_id, user_id, role, created_at)
    values (${older.workspaceId}, ${caller.userId}, 'member', now() - interval '31 days')`);
  await execute(sql`
    insert into api_key_policies (workspace_id, max_idle_days) values (${older.workspaceId}, 30)`);
  await execute(sql`update api_keys set created_at = now() - interval '31 days' where id = ${caller.id}`);
  const node = openNode();
  const find = async () => {
    const request = { address: undefined, name: undefined, verifications: [verificationOf(first)] };
    const { outcome } = await node.verify(caller.secret, request);
    return outcome?.kind === "verified" ? outcome.results : [];
  };
  for (let round = 0; round < 2; round += 1)
    expect(await find()).toMatchObject([{ code: "VALID", key: { keyId: second.id } }]);
  // Another node writes a use from before, which doesn't change the version of the caller's key.
  await execute(sql`
    insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    values (${caller.id}, date_trunc('hour', now()), ${older.workspaceId}, 'admitted', 1)`);
  expect(await find()).toMatchObject([{ code: "VALID", key: { keyId: first.id } }]);
});
