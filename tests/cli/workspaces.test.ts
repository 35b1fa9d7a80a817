import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, signIn } from "../support/account.ts";
import { createPlace, type Place } from "../support/place.ts";
import { bareEnvironment, type ProductNode, projectRoot, runCommand } from "../support/product.ts";
import { expectFailure, expectResult, expectText } from "./expect-ending.ts";

// Workspaces from the command line, beside a server that runs.

const password = "twelve characters or more";
const grace = "grace@example.com";
const ada = "ada@example.com";

let place: Place;
let node: ProductNode;

beforeAll(async () => {
  // One test makes more workspaces for one user than the default quota allows.
  place = await createPlace({ MAX_WORKSPACES_PER_USER: "1000" });
  node = await place.start();
  for (const [email, workspace] of [
    [grace, "Navy"],
    [ada, "Engines"],
  ] as const) {
    const user = ["user", "create", "--email", email, "--name", "Somebody"];
    await perform([...user, "--password-stdin", "--workspace", workspace], password);
  }
});

afterAll(async () => {
  await place?.close();
});

async function perform(args: readonly string[], input?: string): Promise<Record<string, unknown>> {
  return expectResult(await place.command(["--json", ...args], input));
}

const create = (owner: string, name: string): string[] => [
  ...["workspace", "create"],
  ...["--owner", owner, "--name", name],
];

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly members: number;
  readonly createdAt: string;
}

async function list(): Promise<readonly Listed[]> {
  const { workspaces, ...others } = await perform(["workspace", "list"]);
  expect(others).toEqual({});
  return workspaces as readonly Listed[]; // What the tests below look at.
}

test("workspace create keeps to the quota of its own environment", async () => {
  const variables = { DATA_DIR: place.dataDirectory, MAX_WORKSPACES_PER_USER: "1" };
  const ending = await runCommand(["--json", ...create(ada, "Too many")], variables);
  const message = /^The limit for workspaces owned by one user \(1\) is reached\./;
  expectFailure(ending, { status: 1, code: "UNPROCESSABLE_CONTENT", message });
});

test("workspace create makes a workspace whose owner has it in the web app at once", async () => {
  const session = await signIn(node.baseUrl, { email: grace, password });
  const created = await perform(create("Grace@Example.com", "Bug Hunters"));
  expect(created).toEqual({
    workspaceId: expect.stringMatching(/^ws_[0-9a-z]{26}$/),
    slug: "bug-hunters",
  });
  const { data } = await callProcedure(node.baseUrl, {
    path: "session.current",
    kind: "query",
    cookie: session.cookie ?? "",
  });
  expect(data).toMatchObject({
    workspaces: expect.arrayContaining([
      { id: created.workspaceId, name: "Bug Hunters", slug: "bug-hunters", role: "owner" },
    ]),
  });
});

test("a second workspace of the same name has an address of its own", async () => {
  const first = await perform(create(grace, "Twins"));
  const second = await perform(create(ada, "Twins"));
  expect(first.slug).toBe("twins");
  expect(second.slug).toMatch(/^twins-\w+$/);
});

test("workspace create without --json prints lines to read", async () => {
  const text = expectText(await place.command(create(ada, "Notes")));
  expect(text).toMatch(/^workspaceId: ws_\w{26}\nslug: notes\n$/);
});

test("workspace create is on the audit log, as the command's doing", async () => {
  const { workspaceId } = await perform(create(ada, "Audited"));
  const { key } = await perform(["key", "create", "--user", ada, "--name", "auditor"]);
  const response = await fetch(`${node.baseUrl}/open/workspaces/${workspaceId}/audit-events`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(await response.json()).toMatchObject({
    data: [{ action: "workspace.created", actor: { kind: "command" } }],
  });
});

test.each([
  ["an unknown owner", create("nobody@example.com", "n"), "NOT_FOUND", /no user .*nobody@example\.com/],
  ["an owner that is no address", create("nobody", "n"), "BAD_REQUEST", /owner: .*address/],
  ["an empty name", create(ada, " "), "BAD_REQUEST", /name: Enter a name/],
  ["a name of 101 characters", create(ada, "n".repeat(101)), "BAD_REQUEST", /name: .*100/],
  ["a name in two lines", create(ada, "one\ntwo"), "BAD_REQUEST", /name: .*invisible/],
])("%s makes no workspace, with status 1", async (_what, args, code, message) => {
  const before = await list();
  expectFailure(await place.command(args), { status: 1, code, message });
  expect(await list()).toEqual(before);
});

test("workspace list has the workspaces of everybody, with the number of their members", async () => {
  const { workspaceId } = await perform(create(ada, "Both, and “both”"));
  const member = ["member", "add", "--workspace", String(workspaceId), "--user", grace, "--role", "viewer"];
  await perform(member);
  const workspaces = await list();
  expect(workspaces).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: "Navy", slug: "navy", members: 1 }),
      expect.objectContaining({ name: "Engines", slug: "engines", members: 1 }),
      {
        id: workspaceId,
        name: "Both, and “both”",
        slug: "both-and-both",
        members: 2,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ]),
  );
});

test("workspace list without --json is a line a workspace", async () => {
  const workspaces = await list();
  expect(expectText(await place.command(["workspace", "list"]))).toBe(
    workspaces
      .map(({ id, name, slug, members, createdAt }) =>
        [
          `id: ${id}`,
          `name: ${name}`,
          `slug: ${slug}`,
          `members: ${members}`,
          `createdAt: ${createdAt}\n`,
        ].join("  "),
      )
      .join(""),
  );
});

test("workspace list leaves none out and repeats none, in the order of their ids, however many there are", async () => {
  const { key } = await perform(["key", "create", "--user", grace, "--name", "maker"]);
  const made: string[] = [];
  for (let count = 1; count <= 230; count += 1) {
    const response = await fetch(`${node.baseUrl}/open/workspaces`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ name: `Number ${count}` }),
    });
    const { id } = (await response.json()) as { id: string }; // The open API's own shape.
    made.push(id);
  }
  const workspaces = await list();
  const ids = workspaces.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(ids.filter((id) => made.includes(id))).toEqual(made);
  expect(workspaces.filter(({ members }) => members === 1).length).toBeGreaterThanOrEqual(230);
});

test.each(["", "--json"])(
  "who stops reading workspace list %s early ends it without a complaint",
  async (option) => {
    const command = `"$NODE" "$LATCHKEY" workspace list ${option}`;
    const { stdout, stderr } = await promisify(execFile)(
      "/bin/sh",
      ["-c", `(${command}; echo "status $?" >&2) | true`],
      {
        env: {
          ...bareEnvironment,
          NODE: process.execPath,
          LATCHKEY: join(projectRoot, "apps/api/src/cli/latchkey.ts"),
          DATA_DIR: place.dataDirectory,
        },
      },
    );
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "status 0\n" });
  },
);
