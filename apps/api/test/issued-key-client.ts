import { decodeId, type IssuedKeyId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { expect } from "vitest";
import { createOpenClient, type OpenReply } from "./open-client.ts";
import { addTeam, type Team } from "./team.ts";
import type { TestApp } from "./test-app.ts";

/** A keyspace of a team. */
export interface Space {
  readonly team: Team;
  readonly id: string;
  /** Calls an endpoint of the keyspace, as the owner of the team. `path` follows the path of the keyspace. */
  readonly send: OpenCall;
  /** Calls an endpoint for the keys of the keyspace. */
  readonly call: OpenCall;
}

type OpenCall = (
  request: readonly [method: string, path: string],
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<OpenReply>;

/** Creates keyspaces and keys through the open API. `getApp` is called for each request, because tests start the app later. */
export function createIssuedKeyClient(getApp: () => TestApp) {
  const { send } = createOpenClient(getApp);
  return {
    async addSpace(fields: object = {}, known?: Team): Promise<Space> {
      const team = known ?? (await addTeam(getApp()));
      const keyspace = { name: "Production", prefix: "sk_live", ...fields };
      const { status, body } = await send(team.owner.secret, ["POST", `${team.path}/keyspaces`], keyspace);
      expect(status).toBe(201);
      const path = `${team.path}/keyspaces/${body.id}`;
      const callUnder =
        (prefix: string): OpenCall =>
        ([method, subpath], ...rest) =>
          send(team.owner.secret, [method, `${prefix}${subpath}`], ...rest);
      return { team, id: String(body.id), send: callUnder(path), call: callUnder(`${path}/keys`) };
    },

    async addKey(
      { call }: Space,
      fields: object = {},
    ): Promise<{ id: string; secret: string; uuid: IssuedKeyId }> {
      const { status, body } = await call(["POST", ""], fields);
      expect([status, body.error]).toEqual([201, undefined]);
      const id = String(body.id);
      return { id, secret: String(body.key), uuid: decodeId("issuedKey", id) as IssuedKeyId }; // The API has just created it.
    },

    async readCounter(id: string): Promise<{ version: number; credits: number | null } | undefined> {
      const { rows } = await sql<{ version: number; credits: number | null }>`
        select version, credits from key_counters where key_id = ${id}`.execute(getApp().owner);
      return rows[0];
    },

    /** The events about issued keys and consumers, oldest first. */
    async listEvents({ team }: Space): Promise<readonly Record<string, unknown>[]> {
      const { body } = await send(team.owner.secret, [
        "GET",
        `${team.path}/audit-events?sort=occurredAt&limit=100`,
      ]);
      return (body.data ?? [])
        .filter(({ action }) => /^(issued-key|consumer)\./.test(String(action)))
        .map(({ action, before, after }) => ({ action, before, after }));
    },

    /** Verifies a key once, as the owner of the team. */
    async verify(
      { team }: Space,
      secret: string,
      fields: object = {},
    ): Promise<Readonly<Record<string, unknown>>> {
      const { body } = await send(team.owner.secret, ["POST", "/keys/verify"], { ...fields, key: secret });
      return body;
    },
  };
}
