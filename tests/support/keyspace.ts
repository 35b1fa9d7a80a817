import { randomUUID } from "node:crypto";
import { decodeId } from "@latchkey/db/ids";
import { type Account, createKey } from "./account.ts";
import { type Connection, open } from "./inspection.ts";
import { untilAnswered } from "./until-answered.ts";

/** A workspace with a keyspace, and the API key of its owner. */
export interface Keyspace {
  readonly baseUrl: string;
  readonly callerKey: string;
  readonly workspaceId: string;
  readonly id: string;
}

/** An issued key with its secret. */
export interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

type ApiRequest = readonly [method: string, path: string];
type Caller = Pick<Keyspace, "baseUrl" | "callerKey">;

async function send(
  { baseUrl, callerKey }: Caller,
  [method, path]: ApiRequest,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
) {
  const response = await fetch(`${baseUrl}/open${path}`, {
    method,
    headers: {
      ...headers,
      Authorization: `Bearer ${callerKey}`,
      ...(body ? { "Content-Type": "application/json" } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const { status, ok, headers: received } = response;
  return { status, ok, headers: received, text: await response.text() };
}

function read<Data>(
  [method, path]: ApiRequest,
  { status, ok, text }: Pick<Awaited<ReturnType<typeof send>>, "status" | "ok" | "text">,
): Data {
  if (!ok) throw new Error(`${method} ${path} returned ${status}: ${text}`);
  return (text ? JSON.parse(text) : undefined) as Data; // As the caller expects.
}

/** Calls the open API. @throws an Error unless the request succeeded. */
export async function callApi<Data>(caller: Caller, request: ApiRequest, body?: object): Promise<Data> {
  return read(request, await send(caller, request, body));
}

/**
 * Sends a `POST` like {@link callApi}, and again while the server responds with 503, as a node in a process of its own does on a
 * busy machine. An attempt that got 503 may have had its effect.
 */
export async function postUntilAnswered<Data>(caller: Caller, path: string, body: object): Promise<Data> {
  const request = ["POST", path] as const;
  return read(request, await untilAnswered(() => send(caller, request, body)));
}

/** A response to {@link sendIdempotently}. */
interface IdempotentReply<Body> {
  readonly status: number;
  readonly etag: string | null;
  /** Whether the response to an earlier request was sent again. */
  readonly isReplayed: boolean;
  readonly body: Body;
}

/**
 * Sends a request to a node in a process of its own until it responds. A `POST` has the same `Idempotency-Key` each time, so that it is
 * carried out once.
 * @param options.idempotencyKey a new one by default.
 */
export async function sendIdempotently<Body>(
  caller: Caller,
  request: ApiRequest,
  {
    body,
    idempotencyKey = randomUUID(),
  }: { readonly body?: object | undefined; readonly idempotencyKey?: string } = {},
): Promise<IdempotentReply<Body>> {
  const names = request[0] === "POST" ? { "Idempotency-Key": idempotencyKey } : {};
  const { status, headers, text } = await untilAnswered(
    () => send(caller, request, body, names),
    // 409: the first attempt, which got 503, is still in progress.
    (reply) => reply.status === 503 || reply.status === 409,
  );
  return {
    status,
    etag: headers.get("etag"),
    isReplayed: headers.get("idempotent-replayed") === "true",
    body: (text ? JSON.parse(text) : {}) as Body, // As the caller expects.
  };
}

/** Creates a keyspace in a new workspace of an account, and the API key of the account that calls it. */
export async function createKeyspace(baseUrl: string, account: Account): Promise<Keyspace> {
  const { key: callerKey } = await createKey(baseUrl, account, "gateway");
  const caller = { baseUrl, callerKey };
  const name = `Payments ${randomUUID().slice(0, 8)}`;
  const { id: workspaceId } = await postUntilAnswered<{ id: string }>(caller, "/workspaces", { name });
  return await addKeyspace({ ...caller, workspaceId }, { name: "Production", prefix: "acme" });
}

/** Adds a keyspace to a workspace. */
export async function addKeyspace(
  { baseUrl, callerKey, workspaceId }: Omit<Keyspace, "id">,
  settings: { readonly name: string; readonly prefix: string },
): Promise<Keyspace> {
  const caller = { baseUrl, callerKey };
  const path = `/workspaces/${workspaceId}/keyspaces`;
  const { id } = await postUntilAnswered<{ id: string }>(caller, path, settings);
  return { ...caller, workspaceId, id };
}

/** The path of a keyspace under `/open`. */
export function pathOf({ workspaceId, id }: Keyspace): string {
  return `/workspaces/${workspaceId}/keyspaces/${id}`;
}

export async function issueKey(keyspace: Keyspace, settings: object = {}): Promise<IssuedKey> {
  return await postUntilAnswered(keyspace, `${pathOf(keyspace)}/keys`, { name: "key", ...settings });
}

/** What verifications of a key have spent. */
export interface SpentCounter {
  readonly uses: number;
  readonly credits: number;
}

/** SQL for how often each issued key was used: `key_id` and `uses`. */
export const usesOfIssuedKeys = `
  select counter.key_id, counter.use_count + coalesce(own.use_count, 0) as uses
  from key_counters counter left join issued_key_uses own using (key_id)`;

export async function readCounter(connection: Connection, { id }: IssuedKey): Promise<SpentCounter> {
  const client = await open(connection);
  try {
    const { rows } = await client.query<SpentCounter>(
      `select uses, credits from (${usesOfIssuedKeys}) counted join key_counters using (key_id) where key_id = $1`,
      [issuedKeyUuid(id)],
    );
    const [row] = rows;
    if (!row) throw new Error(`The key ${id} has no counter.`);
    return row;
  } finally {
    await client.end();
  }
}

/** Returns the UUID of the ID of an issued key. @throws an Error if it isn't one. */
export function issuedKeyUuid(id: string): string {
  const uuid = decodeId("issuedKey", id);
  if (!uuid) throw new Error(`Not the ID of an issued key: ${id}`);
  return uuid;
}
