// The list of invitations, by text and status, in the open API and in tRPC.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { invitationStatuses } from "@latchkey/db/invitations";
import type { Role } from "@latchkey/db/role";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { addMember, removeMember } from "../src/domain/members.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

type Person = Awaited<ReturnType<typeof addPerson>>;
type Status = (typeof invitationStatuses)[number];
interface Filter {
  readonly search?: string;
  readonly status?: Status;
}

async function addPerson() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, userId, id: encodeId("user", userId), secret: (await app.addKey(userId)).secret };
}

async function addTeam() {
  const owner = await addPerson();
  const { id } = await owner.client.workspaces.create.mutate({ name: "Team" });
  const workspaceId = decodeId("workspace", id) as WorkspaceId; // The API has just created it.
  const edit = { scope: openAsOperator(workspaceId), origin: commandOrigin };
  const { db, quotas } = app.services;
  return {
    ...{ id, workspaceId, owner },
    async add(role: Role) {
      const person = await addPerson();
      const { userId } = person;
      await db.transaction().execute((trx) => addMember(trx, edit, { userId, role }, quotas));
      return person;
    },
    remove: ({ userId }: Person) => db.transaction().execute((trx) => removeMember(trx, edit, { userId })),
  };
}

type Team = Awaited<ReturnType<typeof addTeam>>;

interface OpenList {
  readonly data: readonly { readonly email: string; readonly status: Status }[];
  readonly nextCursor: string | null;
}

async function request({ id }: Team, secret: string, query: Readonly<Record<string, string>>) {
  const url = `${app.baseUrl}/open/workspaces/${id}/invitations?${new URLSearchParams(query)}`;
  const response = await fetch(url, { headers: { Authorization: `Bearer ${secret}` } });
  // The app checks the response against the OpenAPI document.
  const body = (await response.json()) as OpenList & { readonly error?: { readonly issues: object[] } };
  return { status: response.status, body };
}

const nameOf = ({ email }: { readonly email: string }) => email.split("@")[0];

/** Lists the part of each email address before the @, with the open API and with tRPC, which must return the same. */
async function list(team: Team, { client, secret }: Person, filter: Filter = {}) {
  const { status, body } = await request(team, secret, { limit: "100", ...filter });
  expect(status).toBe(200);
  const { items, total } = await client.invitations.list.query({
    ...{ workspaceId: team.id, pageSize: 100, ...filter },
  });
  expect(items).toEqual(body.data);
  expect(total).toBe(items.length);
  if (filter.status) expect(items.filter((item) => item.status !== filter.status)).toEqual([]);
  return items.map(nameOf);
}

const grantableRoles = {
  owner: ["owner", "admin", "member", "viewer"],
  admin: ["admin", "member", "viewer"],
  member: ["member", "viewer"],
  viewer: [],
} as const satisfies Record<Role, readonly Role[]>;
const roles = ["owner", "admin", "member", "viewer"] as const;

describe("invitations of every kind of inviter to every role", () => {
  let team: Team;
  const expected: Record<Status, string[]> = { pending: [], expired: [], invalid: [] };

  beforeAll(async () => {
    team = await addTeam();
    const disabled = await team.add("owner");
    const former = await team.add("owner");
    const inviters: Readonly<Record<string, UserId | null>> = {
      command: null,
      owner: team.owner.userId,
      admin: (await team.add("admin")).userId,
      member: (await team.add("member")).userId,
      viewer: (await team.add("viewer")).userId,
      disabled: disabled.userId,
      former: former.userId,
    };
    const valid: Readonly<Record<string, readonly Role[]>> = { command: roles, ...grantableRoles };
    for (const [inviter, invited_by] of Object.entries(inviters)) {
      for (const role of roles) {
        for (const isExpired of [false, true]) {
          const name = `${inviter}.${role}${isExpired ? ".old" : ""}`;
          const isValid = valid[inviter]?.includes(role);
          expected[isExpired ? "expired" : isValid ? "pending" : "invalid"].push(name);
          await app.owner
            .insertInto("invitations")
            .values({
              ...{ workspace_id: team.workspaceId, id: createId("invitation"), email: `${name}@example.com` },
              ...{ role, invited_by, is_emailed: false, expires_at: new Date(isExpired ? 0 : "2100-01-01") },
            })
            .execute();
        }
      }
    }
    await app.disableUser(disabled.userId);
    await team.remove(former);
  });

  test.each(invitationStatuses)("are filtered by the status %s", async (status) => {
    expect(await list(team, team.owner, { status })).toEqual(expected[status]);
  });

  test("have exactly one of these statuses", async () => {
    const all = await list(team, team.owner);
    expect(all).toHaveLength(56);
    expect(Object.values(expected).flat().sort()).toEqual(all.toSorted());
  });

  test("are found by a part of the email address, in any letter case, and by status", async () => {
    const found = (status: Status, text: string) => expected[status].filter((name) => name.includes(text));
    expect(await list(team, team.owner, { search: "COMMAND.admin" })).toEqual([
      "command.admin",
      "command.admin.old",
    ]);
    for (const status of invitationStatuses) {
      expect(found(status, "admin").length).toBeGreaterThan(1);
      expect(await list(team, team.owner, { search: "admin", status })).toEqual(found(status, "admin"));
    }
    expect(await list(team, team.owner, { search: "%" })).toEqual([]);
    expect(await list(team, team.owner, { search: "old", status: "pending" })).toEqual([]);
  });

  test.each(["createdAt", "-createdAt", "email", "-email"] as const)(
    "are listed in pages, filtered and sorted by %s",
    async (sort) => {
      const filter = { status: "invalid", search: "e" } as const;
      const unsorted = expected.invalid.filter((name) => `${name}@example.com`.includes("e"));
      const sorted = sort.endsWith("email") ? unsorted.toSorted() : unsorted;
      const invalid = sort.startsWith("-") ? sorted.toReversed() : sorted;

      const open: (string | undefined)[] = [];
      let query: Record<string, string> = { ...filter, sort, limit: "4" };
      for (let pages = 0; pages < 10; pages += 1) {
        const { body } = await request(team, team.owner.secret, query);
        open.push(...body.data.map(nameOf));
        if (body.nextCursor === null) break;
        expect(body.data).toHaveLength(4);
        query = { ...query, cursor: body.nextCursor };
      }
      expect(open).toEqual(invalid);

      const input = { workspaceId: team.id, ...filter, sort, pageSize: 10 } as const;
      const { client } = team.owner;
      const first = await client.invitations.list.query(input);
      const cursor = first.nextCursor ?? "";
      const second = await client.invitations.list.query({ ...input, cursor });
      expect(first.items).toHaveLength(10);
      expect([...first.items, ...second.items].map(nameOf)).toEqual(invalid);
      expect([first.total, second.total, second.nextCursor]).toEqual([invalid.length, invalid.length, null]);
    },
  );

  test("are not found in the list of another workspace", async () => {
    const other = await addTeam();
    for (const status of invitationStatuses) expect(await list(other, other.owner, { status })).toEqual([]);
    expect(await list(other, other.owner, { search: "admin" })).toEqual([]);
  });
});

test("an invitation moves to another filter when its inviter is demoted, and when it is sent again or expires", async () => {
  const team = await addTeam();
  const { id: workspaceId, owner } = team;
  const admin = await team.add("admin");
  const invite = (email: string, role: Role) =>
    admin.client.invitations.create.mutate({ workspaceId, email, role });
  const { id } = await invite("grace@example.com", "admin");
  await invite("ken@example.com", "member");
  const readStatuses = async () => {
    const [pending, expired, invalid] = [
      await list(team, owner, { status: "pending" }),
      await list(team, owner, { status: "expired" }),
      await list(team, owner, { status: "invalid" }),
    ];
    return { pending, expired, invalid };
  };
  expect(await readStatuses()).toEqual({ pending: ["grace", "ken"], expired: [], invalid: [] });
  const demotion = { workspaceId, userId: admin.id, role: "member", version: 1 } as const;
  await owner.client.members.changeRole.mutate(demotion);
  expect(await readStatuses()).toEqual({ pending: ["ken"], expired: [], invalid: ["grace"] });
  await owner.client.invitations.resend.mutate({ workspaceId, id });
  expect(await readStatuses()).toEqual({ pending: ["grace", "ken"], expired: [], invalid: [] });
  await app.owner
    .updateTable("invitations")
    .set({ expires_at: new Date(0) })
    .where("workspace_id", "=", team.workspaceId)
    .where("email", "=", "ken@example.com")
    .execute();
  expect(await readStatuses()).toEqual({ pending: ["grace"], expired: ["ken"], invalid: [] });
});

test("a filter finds only the invitations that the user or the key manages", async () => {
  const team = await addTeam();
  const { id: workspaceId, owner } = team;
  const member = await team.add("member");
  for (const [{ client }, email] of [
    [owner, "grace.by.owner@example.com"],
    [member, "grace.by.member@example.com"],
    [member, "ken.by.member@example.com"],
  ] as const)
    await client.invitations.create.mutate({ workspaceId, email, role: "viewer" });
  const filter = { search: "grace", status: "pending" } as const;
  expect(await list(team, owner, filter)).toEqual(["grace.by.owner", "grace.by.member"]);
  expect(await list(team, member, filter)).toEqual(["grace.by.member"]);

  const permissions = ["workspace:read", "members:read", "members:invite"] as const;
  const key = { userId: owner.userId, name: "key", description: "", settings: { permissions } };
  const { db, quotas } = app.services;
  const { secret } = await db
    .transaction()
    .execute((trx) => createKey(trx, { ...key, origin: commandOrigin }, quotas));
  expect((await request(team, secret, filter)).body.data.map(nameOf)).toEqual(["grace.by.owner"]);
});

test.each([
  ["status", "accepted"],
  ["status", ""],
  ["search", "x".repeat(101)],
  ["search", "a\u0000b"],
])("rejects an invalid filter: %s = %j", async (name, value) => {
  const team = await addTeam();
  const { client, secret } = team.owner;
  const { status, body } = await request(team, secret, { [name]: value });
  expect([status, body.error?.issues]).toMatchObject([400, [{ path: name }]]);
  // A value that the types don't allow.
  const input = { workspaceId: team.id, [name]: value } as { workspaceId: string };
  await expect(client.invitations.list.query(input)).rejects.toMatchObject({
    data: { code: "BAD_REQUEST", issues: [{ path: name }] },
  });
});
