// Every endpoint of the open API, called by everybody: who may, who may not, and what is different afterwards.
import { roleHolds } from "@latchkey/auth/permissions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "../../src/http/endpoint.ts";
import { endpoints } from "../../src/open/endpoints.ts";
import { sendRaw, startTestApp, type TestApp } from "../test-app.ts";
import { type Effect, expectEffect, isUnchanged, observe } from "./rows.ts";
import { hiddenFrom, leaveUntouched, type Person, type Stage, setStage } from "./stage.ts";
import { type Caller, callers, readTable } from "./table.ts";

const table = readTable(`
                                          nobody  stranger  removed  viewer  member  admin  owner
  getConfiguration                        401     200       200      200     200     200    200
  getMe                                   401     200       200      200     200     200    200
  listApiKeys                             401     200       200      200     200     200    200
  revokeCurrentApiKey                     401     204       204      204     204     204    204
  getApiKey                               401     403       403      403     403     403    200
  updateApiKey                            401     403       403      403     403     403    200
  deleteApiKey                            401     403       403      403     403     403    204
  rotateApiKey                            401     403       403      403     403     403    200
  getApiKeyUsage                          401     403       403      403     403     403    200
  listWorkspaces                          401     200       200      200     200     200    200
  createWorkspace                         401     201       201      201     201     201    201
  getWorkspace                            401     403       403      200     200     200    200
  renameWorkspace                         401     403       403      403     403     200    200
  deleteWorkspace                         401     403       403      403     403     403    204
  listMembers                             401     403       403      200     200     200    200
  getMember                               401     403       403      200     200     200    200
  getMember, of another workspace         401     403       403      404     404     404    404
  changeMemberRole                        401     403       403      403     403     200    200
  changeMemberRole, to owner              401     403       403      403     403     403    200
  changeMemberRole, of an owner           401     403       403      403     403     403    200
  changeMemberRole, of another workspace  401     403       403      403     403     404    404
  removeMember                            401     403       403      403     403     204    204
  removeMember, oneself                   401     403       403      204     204     204    204
  removeMember, an owner                  401     403       403      403     403     403    204
  removeMember, of another workspace      401     403       403      404     404     404    404
  listAuditEvents                         401     403       403      403     403     200    200
`);

type Member = Exclude<Caller, "nobody">;

/** What a call sends, and what it does and shows where it is allowed. What is not said is: nothing. */
interface Plan {
  readonly body?: object;
  readonly query?: string;
  /** Whom the path names. */
  readonly user?: (stage: Stage, caller: Caller) => Person;
  readonly effect?: (stage: Stage, actor: Person) => Effect;
  readonly shows?: (stage: Stage, caller: Member) => readonly string[];
  /** Whether it shows admins the keys that can reach their workspace. */
  readonly showsKeys?: boolean;
}

const plans: Readonly<Record<string, Plan>> = {
  getConfiguration: { shows: () => ["registration"] },
  getMe: { shows: showsOwnWorkspace },
  listApiKeys: { shows: ({ ownersKey }, caller) => (caller === "owner" ? [ownersKey.id] : []) },
  revokeCurrentApiKey: {
    effect: (stage, actor) => ({
      gone: { api_keys: [{ user_id: actor.userId, name: "key", deleted_at: null }] },
      come: {
        api_keys: [{ user_id: actor.userId, name: "key", deleted_at: expect.any(String) }],
        ...keyEvents(stage, actor, "key.deleted"),
      },
    }),
  },
  getApiKey: { shows: ({ ownersKey }) => [ownersKey.id, ownersKey.name] },
  updateApiKey: {
    body: { name: "Changed" },
    effect: (stage, actor) => ({
      gone: { api_keys: [{ id: stage.ownersKey.keyId, name: stage.ownersKey.name, version: 1 }] },
      come: {
        api_keys: [{ id: stage.ownersKey.keyId, name: "Changed", version: 2 }],
        ...keyEvents(stage, actor, "key.renamed"),
      },
    }),
    shows: () => ["Changed"],
  },
  deleteApiKey: {
    effect: (stage, actor) => ({
      gone: { api_keys: [{ id: stage.ownersKey.keyId, deleted_at: null }] },
      come: {
        api_keys: [{ id: stage.ownersKey.keyId, deleted_at: expect.any(String) }],
        ...keyEvents(stage, actor, "key.deleted"),
      },
    }),
  },
  rotateApiKey: {
    body: { overlapSeconds: 3_600 },
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
  getApiKeyUsage: {
    query: "from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z&bucket=hour",
    shows: () => ['{"data":[]}'],
  },
  listWorkspaces: { shows: showsOwnWorkspace },
  createWorkspace: {
    body: { name: "Made", description: "New" },
    effect: (_stage, actor) => ({
      come: {
        workspaces: [{ name: "Made", description: "New" }],
        members: [{ user_id: actor.userId, role: "owner" }],
        audit_events: [{ action: "workspace.created", ...by(actor) }],
      },
    }),
    shows: () => ["Made"],
  },
  getWorkspace: { shows: ({ ours }) => [ours.id, ours.name] },
  renameWorkspace: {
    body: { name: "Renamed", description: "Described" },
    effect: ({ ours: { workspaceId, name } }, actor) => ({
      gone: { workspaces: [{ id: workspaceId, name, description: "" }] },
      come: {
        workspaces: [{ id: workspaceId, name: "Renamed", description: "Described", version: 2 }],
        audit_events: ["workspace.renamed", "workspace.description-changed"].map((action) => ({
          ...{ workspace_id: workspaceId, action },
          ...by(actor),
        })),
      },
    }),
    shows: () => ["Renamed", "Described"],
  },
  deleteWorkspace: {
    effect: ({ ours: { workspaceId } }) => ({
      gone: {
        workspaces: [{ id: workspaceId }],
        members: Array.from({ length: 6 }, () => ({ workspace_id: workspaceId })),
        // With the creation of the key that makes the request.
        audit_events: Array.from({ length: 10 }, () => ({ workspace_id: workspaceId })),
      },
    }),
  },
  listMembers: { shows: ({ people }) => [people.viewer.email, people.target.email, people.coOwner.email] },
  getMember: { user: ({ people }) => people.target, shows: ({ people }) => [people.target.email] },
  "getMember, of another workspace": { user: ({ people }) => people.foreigner },
  changeMemberRole: {
    user: ({ people }) => people.target,
    body: { role: "member" },
    effect: ({ people }, actor) => changesRole(people.target, { from: "viewer", to: "member" }, actor),
    shows: ({ people }) => [people.target.email, '"role":"member"'],
  },
  "changeMemberRole, to owner": {
    user: ({ people }) => people.target,
    body: { role: "owner" },
    effect: ({ people }, actor) => changesRole(people.target, { from: "viewer", to: "owner" }, actor),
  },
  "changeMemberRole, of an owner": {
    user: ({ people }) => people.coOwner,
    body: { role: "viewer" },
    effect: ({ people }, actor) => changesRole(people.coOwner, { from: "owner", to: "viewer" }, actor),
  },
  "changeMemberRole, of another workspace": {
    user: ({ people }) => people.foreigner,
    body: { role: "member" },
  },
  removeMember: {
    user: ({ people }) => people.target,
    effect: ({ people }, actor) => removes(people.target, actor),
  },
  "removeMember, oneself": {
    user: ({ people }, caller) => people[caller === "nobody" ? "target" : caller],
    effect: (_stage, actor) => removes(actor, actor),
  },
  "removeMember, an owner": {
    user: ({ people }) => people.coOwner,
    effect: ({ people }, actor) => removes(people.coOwner, actor),
  },
  "removeMember, of another workspace": { user: ({ people }) => people.foreigner },
  listAuditEvents: { shows: ({ people }) => ["member.added", people.removed.id], showsKeys: true },
};

/** What a change of a key adds to the logs: an event of its owner's, and one in the workspace that the owner belongs to. */
function keyEvents(
  { ours, theirs, people }: Stage,
  actor: Person,
  action: string,
): NonNullable<Effect["come"]> {
  const isElsewhere = actor === people.stranger || actor === people.foreigner;
  const workspaceId = (isElsewhere ? theirs : ours).workspaceId;
  return {
    security_events: [{ user_id: actor.userId, action, actor_kind: "key" }],
    ...(actor === people.removed
      ? {}
      : { audit_events: [{ workspace_id: workspaceId, action, target_kind: "key", ...by(actor) }] }),
  };
}

function showsOwnWorkspace({ ours, theirs }: Stage, caller: Member): readonly string[] {
  if (caller === "removed") return [];
  return caller === "stranger" ? [theirs.id, theirs.name] : [ours.id, ours.name];
}

function by({ userId }: Person): object {
  return { actor_kind: "key", actor_user_id: userId };
}

function changesRole(
  { userId }: Person,
  { from, to }: { readonly from: string; readonly to: string },
  actor: Person,
): Effect {
  const event = {
    action: "member.role-changed",
    target_id: userId,
    before: { role: from },
    after: { role: to },
  };
  return {
    gone: { members: [{ user_id: userId, role: from, version: 1 }] },
    come: {
      members: [{ user_id: userId, role: to, version: 2 }],
      audit_events: [{ ...event, ...by(actor) }],
    },
  };
}

function removes({ userId }: Person, actor: Person): Effect {
  return {
    gone: { members: [{ user_id: userId }] },
    come: { audit_events: [{ action: "member.removed", target_id: userId, ...by(actor) }] },
  };
}

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test("every endpoint has its expectations, and every expectation its endpoint", () => {
  const operations = endpoints.map(({ operationId }) => operationId);
  expect(new Set(table.map(({ called }) => called))).toEqual(new Set(operations));
  expect(Object.keys(plans)).toEqual(table.map(({ name }) => name));
});

function getEndpoint(operationId: string): Endpoint {
  const endpoint = endpoints.find((one) => one.operationId === operationId);
  if (!endpoint) throw new Error(`There is no endpoint ${operationId}.`);
  return endpoint;
}

/** The path with its parameters filled in. @throws an Error for a parameter that nobody has thought of here. */
function fillPath({ path }: Endpoint, parameters: Readonly<Record<string, string | undefined>>): string {
  const filled = path.replace(/:(\w+)/g, (_match, name: string) => {
    const value = parameters[name];
    if (value === undefined) throw new Error(`The plan has nothing for :${name} in ${path}.`);
    return value;
  });
  return `/open${filled}`;
}

async function call(
  { method }: Endpoint,
  path: string,
  { secret, body }: { readonly secret: string | undefined; readonly body?: object | undefined },
) {
  const response = await fetch(app.baseUrl + path, {
    method,
    headers: { "Content-Type": "application/json", ...(secret ? { Authorization: `Bearer ${secret}` } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, text: await response.text() };
}

const codes: Readonly<Record<string, string>> = { 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND" };

describe.each(table)("$name", ({ called, name, answers }) => {
  test.each(callers)("called by %s", async (caller) => {
    const stage = await setStage(app);
    const plan = plans[name] ?? {};
    const endpoint = getEndpoint(called);
    const actor = caller === "nobody" ? undefined : stage.people[caller];
    const secret = actor && (await app.addKey(actor.userId)).secret;
    const path = fillPath(endpoint, {
      workspaceId: stage.ours.id,
      userId: plan.user?.(stage, caller).id,
      keyId: stage.ownersKey.id,
    });

    const { result, before, after } = await observe(app.owner, () =>
      call(endpoint, `${path}?${plan.query ?? ""}`, { secret, body: plan.body }),
    );

    expect(String(result.status)).toBe(answers[caller]);
    const isAllowed = result.status < 300;
    expectEffect({ before, after }, (isAllowed && actor && plan.effect?.(stage, actor)) || {});
    if (!isAllowed) expect(JSON.parse(result.text).error.code).toBe(codes[result.status]);
    if (isAllowed && caller !== "nobody" && plan.shows) {
      for (const shown of plan.shows(stage, caller)) expect(result.text).toContain(shown);
    }
    for (const hidden of hiddenFrom(caller, stage, plan)) expect(result.text).not.toContain(hidden);
    if (isUnchanged({ before, after })) leaveUntouched(app, stage);
  });
});

/** An answer to the byte, but for when it was given and what the request was called. */
function strip({ head, body }: { readonly head: string; readonly body: string }): string {
  const lines = head.split("\r\n").filter((line) => !/^(date|x-request-id):/i.test(line));
  return [...lines, "", body.replace(/"requestId":"[^"]+"/, '"requestId":""')].join("\r\n");
}

const inWorkspaces = endpoints.filter(({ access }) => typeof access === "object");

test.each(inWorkspaces)(
  "$operationId tells a workspace that is somebody else's, one that is not there, what is no workspace's id, and too small a role apart to nobody",
  async (endpoint) => {
    const { ours, theirs, people } = await setStage(app);
    const ask = async (workspaceId: string, person: Person): Promise<string> => {
      const { secret } = await app.addKey(person.userId);
      const path = fillPath(endpoint, { workspaceId, userId: people.target.id });
      // A body that nobody could read: who may not be here is not told so.
      const lines = [
        `${endpoint.method} ${path} HTTP/1.1`,
        "Host: x",
        `Authorization: Bearer ${secret}`,
        "Content-Type: application/json",
        "Content-Length: 1",
        "Connection: close",
      ];
      return strip(await sendRaw(app.baseUrl, `${lines.join("\r\n")}\r\n\r\n{`));
    };
    const foreign = await ask(theirs.id, people.owner);
    expect(foreign).toMatch(/^HTTP\/1\.1 403 /);
    for (const workspaceId of [
      "ws_01h455vb4pex5vsknk084sn02q",
      "nonsense",
      people.owner.id,
      theirs.workspaceId,
      theirs.id.toUpperCase(),
      "%00",
      "%ff",
      "ws_",
      "*",
    ]) {
      expect(await ask(workspaceId, people.owner), workspaceId).toBe(foreign);
    }
    expect(await ask(ours.id, people.stranger)).toBe(foreign);
    expect(await ask(ours.id, people.removed)).toBe(foreign);
    // Where a handler decides about the role, the body has been read by then.
    const { access } = endpoint;
    if (typeof access === "object" && !roleHolds("viewer", access.workspace)) {
      expect(await ask(ours.id, people.viewer)).toBe(foreign);
    }
  },
);

const withBody = endpoints.filter(({ request }) => request.body);

test.each(withBody)(
  "$operationId refuses members that it does not name, and does nothing",
  async (endpoint) => {
    const stage = await setStage(app);
    const { ours, theirs, people } = stage;
    const plan = plans[endpoint.operationId] ?? {};
    const { secret } = await app.addKey(people.owner.userId);
    const userId = plan.user?.(stage, "owner").id;
    const path = fillPath(endpoint, { workspaceId: ours.id, userId, keyId: stage.ownersKey.id });
    const unknown = {
      userId: people.stranger.id,
      workspaceId: theirs.id,
      ...(plan.body && "role" in plan.body ? {} : { role: "owner" }),
      keyHash: "0",
      id: theirs.id,
      version: 7,
      toString: "x",
      constructor: { prototype: {} },
    };
    for (const [name, value] of Object.entries(unknown)) {
      const body = { ...plan.body, [name]: value };
      const { result, before, after } = await observe(app.owner, () =>
        call(endpoint, path, { secret, body }),
      );
      expect([result.status, JSON.parse(result.text).error.issues]).toEqual([
        400,
        [{ path: name, code: "unknown_member", message: "Unknown member" }],
      ]);
      expectEffect({ before, after }, {});
    }
    leaveUntouched(app, stage);
  },
);

test.each(endpoints)("$operationId refuses parameters that it does not name", async (endpoint) => {
  const stage = await setStage(app);
  const plan = plans[endpoint.operationId] ?? {};
  const { secret } = await app.addKey(stage.people.owner.userId);
  const userId = plan.user?.(stage, "owner").id;
  const path = fillPath(endpoint, { workspaceId: stage.ours.id, userId, keyId: stage.ownersKey.id });
  for (const name of ["userId", "workspaceId", "keyHash", "__proto__", "api_key"]) {
    const query = `${path}?${plan.query ?? ""}&${name}=${stage.theirs.id}`;
    const { result, before, after } = await observe(app.owner, () =>
      call(endpoint, query, { secret, body: plan.body }),
    );
    expect([result.status, JSON.parse(result.text).error.issues]).toEqual([
      400,
      [{ path: name, code: "unknown_member", message: "Unknown member" }],
    ]);
    expectEffect({ before, after }, {});
  }
  leaveUntouched(app, stage);
});
