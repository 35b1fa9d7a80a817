// Every procedure of the web app, called by everybody: who may, who may not, and what is different afterwards.
import { encodeId } from "@latchkey/db/ids";
import { type ErrorCode, errorCatalogue } from "@latchkey/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { router } from "../../src/admin/router.ts";
import { password, sendRaw, startTestApp, type TestApp } from "../test-app.ts";
import { type Effect, expectEffect, isUnchanged, observe } from "./rows.ts";
import { hiddenFrom, leaveUntouched, type Person, type Stage, setStage } from "./stage.ts";
import { type Caller, callers, readTable } from "./table.ts";

const table = readTable(`
                                          nobody        stranger   removed    viewer     member     admin      owner
  instance.get                            ok            ok         ok         ok         ok         ok         ok
  instance.isFresh                        ok            ok         ok         ok         ok         ok         ok
  instance.permissions                    ok            ok         ok         ok         ok         ok         ok
  session.current                         ok            ok         ok         ok         ok         ok         ok
  session.signUp                          ok            ok         ok         ok         ok         ok         ok
  session.signIn                          ok            ok         ok         ok         ok         ok         ok
  session.signOut                         ok            ok         ok         ok         ok         ok         ok
  apiKeys.list                            UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  apiKeys.summary                         UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  apiKeys.get                             UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.create                          UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  apiKeys.update                          UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.rotate                          UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.endOverlap                      UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.delete                          UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.usage                        UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.usageInBuckets               UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.refusals                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.addresses                    UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.explainRequest               UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  keyHistory.tryOut                       UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  keyHistory.evaluate                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  workspaces.get                          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  workspaces.create                       UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  workspaces.update                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  workspaces.rename                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  workspaces.delete                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  members.list                            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  members.changeRole                      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  members.changeRole, to owner            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  members.changeRole, of an owner         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  members.changeRole, of a foreigner      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  members.remove                          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  members.remove, oneself                 UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  members.remove, an owner                UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  members.remove, a foreigner             UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  audit.list                              UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  overview.usage                          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  overview.keys                           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  workspaceKeys.list                      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  securityLog.list                        UNAUTHORIZED  ok         ok         ok         ok         ok         ok
`);

type Actor = Person | undefined;

/** What a call sends, and what it does and shows where it is allowed. What is not said is: nothing. */
interface Plan {
  readonly input?: (stage: Stage, actor: Actor) => object;
  readonly effect?: (stage: Stage, actor: Actor) => Effect;
  readonly shows?: (stage: Stage, caller: Caller) => readonly string[];
  /** Whether it shows admins the keys that can reach their workspace. */
  readonly showsKeys?: boolean;
}

const plans: Readonly<Record<string, Plan>> = {
  "instance.get": { shows: () => ["registration"] },
  "instance.isFresh": { shows: () => ['{"data":false}'] },
  "instance.permissions": { shows: () => ["members:manage"] },
  "session.current": { shows: showsOwn },
  "session.signUp": {
    input: ({ people }) => ({ name: "New", email: `${people.owner.userId}@example.com`, password }),
    effect: ({ people }, actor) => ({
      gone: ownSession(actor),
      come: {
        users: [{ email: `${people.owner.userId}@example.com` }],
        accounts: [{ provider_id: "credential" }],
        workspaces: [{ name: "New’s workspace" }],
        members: [{ role: "owner" }],
        audit_events: [{ action: "workspace.created" }],
        sessions: [{}],
        sign_in_origins: [{}, {}],
      },
    }),
  },
  "session.signIn": {
    input: ({ people }, actor) => ({ email: (actor ?? people.removed).email, password }),
    effect: ({ people }, actor) => {
      const { userId } = actor ?? people.removed;
      return {
        gone: ownSession(actor),
        come: {
          sessions: [{ user_id: userId }],
          sign_in_origins: [{ user_id: userId }, { user_id: userId }],
        },
      };
    },
  },
  "session.signOut": { effect: (_stage, actor) => ({ gone: ownSession(actor) }) },
  "apiKeys.list": {
    input: () => ({}),
    shows: ({ ownersKey }, caller) => (caller === "owner" ? [ownersKey.id, '"total":1'] : ['"total":0']),
  },
  "apiKeys.summary": { shows: (_stage, caller) => [`"keyCount":${caller === "owner" ? 1 : 0}`] },
  "apiKeys.get": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    shows: ({ ownersKey }) => [ownersKey.id],
  },
  "apiKeys.create": {
    input: () => ({ name: "Made" }),
    effect: (stage, actor) => ({
      come: {
        api_keys: [{ name: "Made", user_id: actor?.userId }],
        ...keyEvents(stage, actor, "key.created"),
      },
    }),
  },
  "apiKeys.update": {
    input: ({ ownersKey }) => ({ id: ownersKey.id, name: "Changed", description: "", version: 1 }),
    effect: (stage, actor) => ({
      gone: { api_keys: [{ id: stage.ownersKey.keyId, name: stage.ownersKey.name }] },
      come: {
        api_keys: [{ id: stage.ownersKey.keyId, name: "Changed" }],
        ...keyEvents(stage, actor, "key.renamed"),
      },
    }),
  },
  "apiKeys.rotate": {
    input: ({ ownersKey }) => ({ id: ownersKey.id, overlapSeconds: 3_600 }),
    effect: (stage, actor) => ({
      gone: { api_keys: [{ id: stage.ownersKey.keyId, version: 1 }] },
      come: {
        api_keys: [{ id: stage.ownersKey.keyId, version: 2 }],
        retired_secrets: [{ key_id: stage.ownersKey.keyId }],
        ...keyEvents(stage, actor, "key.rotated"),
      },
    }),
    shows: () => ['"key":"lk_'],
  },
  "apiKeys.endOverlap": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    shows: ({ ownersKey }) => [ownersKey.id],
  },
  "apiKeys.delete": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    effect: (stage, actor) => ({
      gone: { api_keys: [{ id: stage.ownersKey.keyId, deleted_at: null }] },
      come: {
        api_keys: [{ id: stage.ownersKey.keyId, deleted_at: expect.any(String) }],
        ...keyEvents(stage, actor, "key.deleted"),
      },
    }),
  },
  "keyHistory.usage": {
    input: ({ ownersKey }) => ({
      id: ownersKey.id,
      from: "2026-03-01T00:00:00Z",
      to: "2026-03-02T00:00:00Z",
      bucket: "hour",
    }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.usageInBuckets": {
    input: ({ ownersKey }) => ({ id: ownersKey.id, ...anyDay }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.refusals": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.addresses": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.explainRequest": { input: () => ({ requestId: "some" }), shows: () => ['{"data":[]}'] },
  "keyHistory.tryOut": {
    input: ({ ownersKey }) => ({ key: ownersKey.secret, method: "GET", path: "/open/me" }),
    shows: ({ ownersKey }, caller) =>
      caller === "owner" ? ['"outcome":"admitted"', ownersKey.id] : ['"outcome":"unknown"', '"keyId":null'],
  },
  "keyHistory.evaluate": {
    input: ({ ownersKey }) => ({ id: ownersKey.id, method: "GET", path: "/open/me" }),
    shows: ({ ownersKey }) => ['"outcome":"admitted"', ownersKey.id],
  },
  "workspaces.get": { input: inOurs(), shows: ({ ours }) => [ours.id, ours.name] },
  "workspaces.create": {
    input: () => ({ name: "Made", description: "New" }),
    effect: (_stage, actor) => ({
      come: {
        workspaces: [{ name: "Made", description: "New" }],
        members: [{ user_id: actor?.userId, role: "owner" }],
        audit_events: [{ action: "workspace.created", ...by(actor) }],
      },
    }),
  },
  "workspaces.update": {
    input: inOurs(() => ({ description: "Described", version: 1 })),
    effect: ({ ours: { workspaceId, name } }, actor) => ({
      gone: { workspaces: [{ id: workspaceId, name, description: "" }] },
      come: {
        workspaces: [{ id: workspaceId, name, description: "Described", version: 2 }],
        audit_events: [{ workspace_id: workspaceId, action: "workspace.description-changed", ...by(actor) }],
      },
    }),
    shows: () => ["Described"],
  },
  "workspaces.rename": {
    input: inOurs(() => ({ name: "Renamed", version: 1 })),
    effect: ({ ours }, actor) => ({
      gone: { workspaces: [{ id: ours.workspaceId, name: ours.name }] },
      come: {
        workspaces: [{ id: ours.workspaceId, name: "Renamed", version: 2 }],
        audit_events: [{ workspace_id: ours.workspaceId, action: "workspace.renamed", ...by(actor) }],
      },
    }),
  },
  "workspaces.delete": {
    input: inOurs(),
    effect: ({ ours: { workspaceId } }) => ({
      gone: {
        workspaces: [{ id: workspaceId }],
        members: Array.from({ length: 6 }, () => ({ workspace_id: workspaceId })),
        audit_events: Array.from({ length: 9 }, () => ({ workspace_id: workspaceId })),
      },
    }),
  },
  "members.list": {
    input: inOurs(),
    shows: ({ people }) => [people.viewer.email, people.coOwner.email, '"total":6'],
  },
  "members.changeRole": changesRole(({ target }) => target, { from: "viewer", to: "member" }),
  "members.changeRole, to owner": changesRole(({ target }) => target, { from: "viewer", to: "owner" }),
  "members.changeRole, of an owner": changesRole(({ coOwner }) => coOwner, { from: "owner", to: "viewer" }),
  "members.changeRole, of a foreigner": changesRole(({ foreigner }) => foreigner, {
    from: "viewer",
    to: "member",
  }),
  "members.remove": removes(({ target }) => target),
  "members.remove, oneself": removes(({ target }, actor) => actor ?? target),
  "members.remove, an owner": removes(({ coOwner }) => coOwner),
  "members.remove, a foreigner": removes(({ foreigner }) => foreigner),
  "audit.list": {
    input: inOurs(),
    shows: ({ people }) => ["member.added", people.removed.id],
    showsKeys: true,
  },
  "overview.usage": { input: inOurs(() => anyDay), shows: () => ['{"data":[]}'] },
  "overview.keys": {
    input: inOurs(() => anyDay),
    shows: (_stage, caller) => [seesAllKeys(caller) ? '"isOwn":false,"total":1' : '"isOwn":true,"total":0'],
    showsKeys: true,
  },
  "workspaceKeys.list": {
    input: inOurs(),
    shows: ({ ownersKey }, caller) =>
      seesAllKeys(caller) ? [ownersKey.id, '"total":1'] : ['"items":[],"total":0'],
    showsKeys: true,
  },
  "securityLog.list": {
    input: () => ({}),
    shows: ({ ownersKey }, caller) => (caller === "owner" ? ["key.created", ownersKey.id] : ['"items":[]']),
  },
};

/** In seconds since 1970. */
const anyDay = { starts: [1_772_323_200], to: 1_772_409_600 };

function seesAllKeys(caller: Caller): boolean {
  return caller === "owner" || caller === "admin";
}

/** What a change of a person's own key adds to the logs: one event of their own, and one in the workspace they belong to. */
function keyEvents(
  { ours, theirs, people }: Stage,
  actor: Actor,
  action: string,
): NonNullable<Effect["come"]> {
  const isElsewhere = actor === people.stranger || actor === people.foreigner;
  const workspaceId = (isElsewhere ? theirs : ours).workspaceId;
  return {
    security_events: [{ user_id: actor?.userId, action, actor_kind: "session", actor_key_id: null }],
    ...(actor === people.removed
      ? {}
      : { audit_events: [{ workspace_id: workspaceId, action, target_kind: "key", ...by(actor) }] }),
  };
}

function inOurs(more: Plan["input"] = () => ({})): NonNullable<Plan["input"]> {
  return (stage, actor) => ({ workspaceId: stage.ours.id, ...more(stage, actor) });
}

function showsOwn({ ours, theirs, people }: Stage, caller: Caller): readonly string[] {
  if (caller === "nobody") return ['{"data":null}'];
  if (caller === "removed") return [people.removed.email];
  return caller === "stranger" ? [theirs.id, theirs.name] : [ours.id, ours.name];
}

function ownSession(actor: Actor): NonNullable<Effect["gone"]> {
  return actor ? { sessions: [{ user_id: actor.userId }] } : {};
}

function by(actor: Actor): object {
  return { actor_kind: "session", actor_user_id: actor?.userId, actor_key_id: null };
}

function changesRole(
  choose: (people: Stage["people"]) => Person,
  { from, to }: { readonly from: string; readonly to: string },
): Plan {
  return {
    input: inOurs(({ people }) => ({ userId: choose(people).id, role: to, version: 1 })),
    effect({ people }, actor) {
      const { userId } = choose(people);
      const change = { target_id: userId, before: { role: from }, after: { role: to } };
      return {
        gone: { members: [{ user_id: userId, role: from, version: 1 }] },
        come: {
          members: [{ user_id: userId, role: to, version: 2 }],
          audit_events: [{ action: "member.role-changed", ...change, ...by(actor) }],
        },
      };
    },
  };
}

function removes(choose: (people: Stage["people"], actor: Actor) => Person): Plan {
  return {
    input: inOurs(({ people }, actor) => ({ userId: choose(people, actor).id })),
    effect({ people }, actor) {
      const { userId } = choose(people, actor);
      const event = { action: "member.removed", target_id: userId, ...by(actor) };
      return { gone: { members: [{ user_id: userId }] }, come: { audit_events: [event] } };
    },
  };
}

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

interface Procedure {
  readonly _def: { readonly type: "query" | "mutation"; readonly inputs: readonly { shape?: object }[] };
}

const procedures = router._def.procedures as unknown as Readonly<Record<string, Procedure>>; // What it holds, by path.

test("every procedure has its expectations, and every expectation its procedure", () => {
  expect(new Set(table.map(({ called }) => called))).toEqual(new Set(Object.keys(procedures)));
  expect(Object.keys(plans)).toEqual(table.map(({ name }) => name));
});

function getProcedure(path: string): Procedure["_def"] {
  const procedure = procedures[path];
  if (!procedure) throw new Error(`There is no procedure ${path}.`);
  return procedure._def;
}

/** The bytes of a call to a procedure: a query in the address, a mutation in the body. HTTP/1.0 knows no pieces. */
function write(
  path: string,
  { input, cookie }: { readonly input?: unknown; readonly cookie: string },
): string {
  const isQuery = getProcedure(path).type === "query";
  const body = isQuery ? "" : JSON.stringify(input ?? null);
  const query = isQuery && input !== undefined ? `?input=${encodeURIComponent(JSON.stringify(input))}` : "";
  const lines = [
    `${isQuery ? "GET" : "POST"} /trpc/${path}${query} HTTP/1.0`,
    "Host: localhost",
    ...(cookie ? [`Cookie: ${cookie}`] : []),
    ...(isQuery ? [] : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`]),
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

async function openSession(person: Actor): Promise<string> {
  if (!person) return "";
  const { cookies } = await app.instance.sessions.open(person.userId, new Headers());
  return cookies[0]?.split(";")[0] ?? "";
}

describe.each(table)("$name", ({ called, name, answers }) => {
  test.each(callers)("called by %s", async (caller) => {
    const stage = await setStage(app);
    const plan = plans[name] ?? {};
    const actor = caller === "nobody" ? undefined : stage.people[caller];
    const input = plan.input?.(stage, actor);
    const cookie = await openSession(actor);

    const { result, before, after } = await observe(app.owner, () =>
      sendRaw(app.baseUrl, write(called, { input, cookie })),
    );

    const { result: answer, error } = JSON.parse(result.body);
    const code: ErrorCode | "ok" = answer ? "ok" : error.data.code;
    expect(code).toBe(answers[caller]);
    expect(result.status).toBe(code === "ok" ? 200 : errorCatalogue[code].status);
    expectEffect({ before, after }, (code === "ok" && plan.effect?.(stage, actor)) || {});
    if (code === "ok")
      for (const shown of plan.shows?.(stage, caller) ?? []) expect(result.body).toContain(shown);
    for (const hidden of hiddenFrom(caller, stage, plan)) expect(result.body).not.toContain(hidden);
    // A refusal neither opens a session nor ends one.
    if (code !== "ok") expect(result.head).not.toMatch(/^set-cookie:/im);
    if (isUnchanged({ before, after })) leaveUntouched(app, stage);
  });
});

/** An answer to the byte, but for when it was given and what the request was called. */
function strip({ head, body }: { readonly head: string; readonly body: string }): string {
  const lines = head.split("\r\n").filter((line) => !/^(date|x-request-id):/i.test(line));
  return [...lines, "", body.replace(/"requestId":"[^"]+"/, '"requestId":""')].join("\r\n");
}

const inWorkspaces = Object.keys(procedures).filter((path) =>
  getProcedure(path).inputs.some(({ shape }) => shape && "workspaceId" in shape),
);

test.each(inWorkspaces)(
  "%s tells a workspace that is somebody else's, one that is not there, and too small a role apart to nobody",
  async (path) => {
    const stage = await setStage(app);
    const { ours, theirs, people } = stage;
    const ask = async (workspaceId: string, person: Person): Promise<string> => {
      const input = { ...plans[path]?.input?.(stage, person), workspaceId };
      return strip(await sendRaw(app.baseUrl, write(path, { input, cookie: await openSession(person) })));
    };
    const foreign = await ask(theirs.id, people.owner);
    expect(foreign).toMatch(/^HTTP\/1\.1 403 /);
    expect(await ask("ws_01h455vb4pex5vsknk084sn02q", people.owner)).toBe(foreign);
    expect(await ask(ours.id, people.stranger)).toBe(foreign);
    expect(await ask(ours.id, people.removed)).toBe(foreign);
    const row = table.find(({ name }) => name === path);
    if (row?.answers.viewer === "FORBIDDEN") expect(await ask(ours.id, people.viewer)).toBe(foreign);
    // What is no id at all is a fault of the web app's own, and the same for everybody.
    const malformed = await ask("nonsense", people.owner);
    expect(malformed).toMatch(/^HTTP\/1\.1 400 /);
    expect(await ask("nonsense", people.stranger)).toBe(malformed);
  },
);

test("procedures that ask for a workspace are those that a stranger is forbidden", () => {
  const forbidding = table
    .filter(({ answers }) => answers.stranger === "FORBIDDEN")
    .map(({ called }) => called);
  expect(new Set(inWorkspaces)).toEqual(new Set(forbidding));
});

const mutations = Object.keys(procedures).filter(
  (path) => getProcedure(path).type === "mutation" && plans[path]?.input,
);

test.each(mutations)("%s refuses members that it does not name, and does nothing", async (path) => {
  const stage = await setStage(app);
  const { owner, stranger } = stage.people;
  const cookie = await openSession(owner);
  const input = plans[path]?.input?.(stage, owner) ?? {};
  const unknown = {
    userId: stranger.id,
    workspaceId: stage.theirs.id,
    role: "owner",
    id: encodeId("user", stranger.userId),
    keyHash: "0",
    isOperator: true,
  };
  for (const [name, value] of Object.entries(unknown).filter(([member]) => !(member in input))) {
    const { result, before, after } = await observe(app.owner, () =>
      sendRaw(app.baseUrl, write(path, { input: { ...input, [name]: value }, cookie })),
    );
    const { error } = JSON.parse(result.body);
    expect([result.status, error.data.issues]).toEqual([
      400,
      [{ path: name, code: "unknown_member", message: "Unknown member" }],
    ]);
    expectEffect({ before, after }, {});
  }
  leaveUntouched(app, stage);
});
