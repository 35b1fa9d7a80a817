import { randomUUID } from "node:crypto";
import { decodeId } from "@latchkey/db/ids";
import { type Connection, open } from "./inspection.ts";

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

/** Calls the open API. @throws an Error unless the request succeeded. */
export async function callApi<Data>(
  { baseUrl, callerKey }: Pick<Keyspace, "baseUrl" | "callerKey">,
  [method, path]: readonly [method: string, path: string],
  body?: object,
): Promise<Data> {
  const response = await fetch(`${baseUrl}/open${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${callerKey}`,
      ...(body ? { "Content-Type": "application/json" } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
  return (text ? JSON.parse(text) : undefined) as Data; // As the caller expects.
}

export async function createKeyspace(baseUrl: string, callerKey: string): Promise<Keyspace> {
  const caller = { baseUrl, callerKey };
  const { id: workspaceId } = await callApi<{ id: string }>(caller, ["POST", "/workspaces"], {
    name: `Payments ${randomUUID().slice(0, 8)}`,
  });
  const { id } = await callApi<{ id: string }>(caller, ["POST", `/workspaces/${workspaceId}/keyspaces`], {
    name: "Production",
    prefix: "acme",
  });
  return { ...caller, workspaceId, id };
}

/** The path of a keyspace under `/open`. */
export function pathOf({ workspaceId, id }: Keyspace): string {
  return `/workspaces/${workspaceId}/keyspaces/${id}`;
}

export async function issueKey(keyspace: Keyspace, settings: object = {}): Promise<IssuedKey> {
  return await callApi(keyspace, ["POST", `${pathOf(keyspace)}/keys`], { name: "key", ...settings });
}

/** What verifications of a key have spent. */
export interface SpentCounter {
  readonly uses: number;
  readonly credits: number;
}

export async function readCounter(connection: Connection, { id }: IssuedKey): Promise<SpentCounter> {
  const client = await open(connection);
  try {
    const { rows } = await client.query<SpentCounter>(
      "select use_count as uses, credits from key_counters where key_id = $1",
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
