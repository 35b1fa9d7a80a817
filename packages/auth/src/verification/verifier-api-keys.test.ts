import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { type PermissionQuery, parsePermissionQuery } from "./permission-query.ts";
import { setUpVerifierTests, type verificationOf, verify } from "./verifier.test-kit.ts";

const { addKey, addKeyspace, bumpOwner, database, execute, openNode, readCounter } = setUpVerifierTests();

describe("an API key", () => {
  test("is verified in the workspace that the request names, and nowhere else", async () => {
    const node = openNode();
    const [space, other] = [await addKeyspace({ role: "admin" }), await addKeyspace()];
    const inSpace = { workspaceId: space.workspaceId };
    const permissions = parsePermissionQuery("members:manage AND api-keys:read") as PermissionQuery;
    expect(await verify(node, space, space.caller, { ...inSpace, permissions })).toBe("VALID");
    expect([
      await verify(node, space, space.caller),
      await verify(node, space, other.caller, inSpace),
      await verify(node, other, space.caller, inSpace),
      await verify(node, space, space.caller, { ...inSpace, keyspaceId: space.keyspaceId }),
    ]).toEqual(["NOT_FOUND", "NOT_FOUND", "NOT_FOUND", "NOT_FOUND"]);
    // Four requests of its own, and one verification.
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 5 });
  });

  test("has the permissions of its owner and its restrictions, IP ranges and rate limit", async () => {
    const node = openNode();
    const space = await addKeyspace({ role: "admin" });
    const target = await addKey(space.caller.userId);
    const verifyTarget = (change: Parameters<typeof verificationOf>[1] = {}) =>
      verify(node, space, target, { workspaceId: space.workspaceId, ...change });
    await execute(sql`
      update api_keys set permissions = '{members:read,workspace:delete}', ip_ranges = '{192.0.2.0/24}', limit_quota = 2,
        limit_window_seconds = 3600
      where id = ${target.id}`);
    const clientAddress = "192.0.2.1";
    const query = (text: string) => parsePermissionQuery(text) as PermissionQuery;
    expect([
      await verifyTarget({ clientAddress, permissions: query("members:read") }),
      await verifyTarget({ clientAddress, permissions: query("members:manage") }),
      await verifyTarget({ clientAddress, permissions: query("workspace:delete") }),
      await verifyTarget(),
      await verifyTarget({ clientAddress, cost: 2 }),
      await verifyTarget({ clientAddress }),
      await verifyTarget({ clientAddress }),
    ]).toEqual([
      "VALID",
      "INSUFFICIENT_PERMISSIONS",
      "INSUFFICIENT_PERMISSIONS",
      "FORBIDDEN",
      "RATE_LIMITED",
      "VALID",
      "RATE_LIMITED",
    ]);
    expect(await readCounter(target.id)).toMatchObject({ uses: 2 });
  });

  test("that is restricted to permissions needs no IP address of the consumer", async () => {
    const node = openNode();
    const space = await addKeyspace({ role: "admin" });
    const target = await addKey(space.caller.userId);
    await execute(sql`update api_keys set permissions = '{members:read}' where id = ${target.id}`);
    expect(await verify(node, space, target, { workspaceId: space.workspaceId })).toBe("VALID");
  });

  test("that the policy of the workspace rejects is disabled", async () => {
    const node = openNode();
    const space = await addKeyspace({ role: "admin" });
    const target = { caller: await addKey() };
    await execute(sql`
      insert into members (workspace_id, user_id, role) values (${space.workspaceId}, ${target.caller.userId}, 'viewer')`);
    await execute(sql`
      insert into api_key_policies (workspace_id, max_idle_days) values (${space.workspaceId}, 30)`);
    for (const id of [target.caller.id])
      await execute(sql`update api_keys set created_at = now() - interval '31 days' where id = ${id}`);
    await execute(
      sql`update members set created_at = now() - interval '31 days' where user_id = ${target.caller.userId}`,
    );
    expect(await verify(node, space, target.caller, { workspaceId: space.workspaceId })).toBe("DISABLED");
  });

  test("that the workspace rejects because its owner has no second factor is disabled, on every node", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace({ role: "admin" });
    const target = await addKey();
    await execute(sql`
      insert into members (workspace_id, user_id, role) values (${space.workspaceId}, ${target.userId}, 'viewer')`);
    await execute(sql`
      insert into totp_factors (user_id, secret, confirmed_at) values (${space.caller.userId}, 'sealed', now())`);
    // In the role of the product, because row-level security hides the members from the owner of the database.
    const setRequired = async (isRequired: boolean) =>
      await database()
        .db.transaction()
        .execute(async (trx) => {
          await sql`select set_config('latchkey.workspace_id', ${space.workspaceId}, true)`.execute(trx);
          await sql`update workspaces set requires_second_factor = ${isRequired}`.execute(trx);
        });
    const verifyOnEach = () =>
      Promise.all(nodes.map((node) => verify(node, space, target, { workspaceId: space.workspaceId })));
    expect(await verifyOnEach()).toEqual(["VALID", "VALID"]);
    await setRequired(true);
    expect(await verifyOnEach()).toEqual(["DISABLED", "DISABLED"]);
    await execute(sql`
      insert into totp_factors (user_id, secret, confirmed_at) values (${target.userId}, 'sealed', now())`);
    expect(await verifyOnEach()).toEqual(["VALID", "VALID"]);
    await execute(sql`delete from totp_factors where user_id = ${target.userId}`);
    expect(await verifyOnEach()).toEqual(["DISABLED", "DISABLED"]);
    await setRequired(false);
    expect(await verifyOnEach()).toEqual(["VALID", "VALID"]);
  });

  test("follows every change on every node", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const owner = { caller: await addKey() };
    await execute(sql`
      insert into members (workspace_id, user_id, role) values (${space.workspaceId}, ${owner.caller.userId}, 'viewer')`);
    const expectCode = async (code: string) => {
      for (const node of nodes)
        expect(await verify(node, space, owner.caller, { workspaceId: space.workspaceId })).toBe(code);
    };
    await expectCode("VALID");
    const changes = [
      [sql`update users set disabled_at = now() where id = ${owner.caller.userId}`, "DISABLED"],
      [sql`update users set disabled_at = null where id = ${owner.caller.userId}`, "VALID"],
      [sql`update api_keys set expires_at = now() where id = ${owner.caller.id}`, "EXPIRED"],
      [
        sql`update api_keys set expires_at = null, disabled_at = now() where id = ${owner.caller.id}`,
        "DISABLED",
      ],
      [sql`update api_keys set disabled_at = null where id = ${owner.caller.id}`, "VALID"],
      [sql`delete from members where user_id = ${owner.caller.userId}`, "NOT_FOUND"],
    ] as const;
    for (const [change, code] of changes) {
      await execute(change);
      await bumpOwner(owner.caller.userId);
      await expectCode(code);
    }
  });
});
