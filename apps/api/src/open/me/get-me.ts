import { readableWorkspaces } from "@latchkey/auth/restrictions";
import { type ApiKey, findApiKey } from "@latchkey/db/api-keys";
import { encodeId } from "@latchkey/db/ids";
import { findKeyOwner, type KeyOwner } from "@latchkey/db/users";
import { asUser } from "@latchkey/db/workspace-scope";
import { listMemberships } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWorkspace, workspace } from "../../presenters/workspace.ts";
import {
  shownId,
  shownPersonName,
  shownText,
  shownUserEmail,
  shownUserKind,
  timestamp,
} from "../../schemas.ts";

/** The maximum number of workspaces in the response; `/open/workspaces` lists all. */
const maxWorkspaces = 100;

const identity = z
  .object({
    key: z.object({
      id: shownId("key"),
      name: shownText(maxLength.keyName).meta({ example: "CI deploys" }),
      createdAt: timestamp,
      lastUsedAt: timestamp.nullable(),
      usageCount: z.int().min(0).meta({
        description: "The exact number of requests allowed with the key, including this request.",
        example: 42,
      }),
    }),
    user: z.object({
      id: shownId("user"),
      name: shownPersonName.meta({ example: "Ada Lovelace" }),
      kind: shownUserKind,
      email: shownUserEmail,
    }),
    workspaces: z.array(workspace).meta({
      description: `At most ${maxWorkspaces}; \`GET /open/workspaces\` lists all of them.`,
      maxItems: maxWorkspaces,
    }),
  })
  .meta({ id: "Identity" });

export const getMe = defineEndpoint({
  method: "GET",
  path: "/me",
  operationId: "getMe",
  summary: "Get the current key and user",
  description: "Returns the API key of the request, its owner, and the workspaces it can access.",
  access: "key",
  request: {},
  response: {
    status: 200,
    description: "The API key of the request, its owner, and their workspaces.",
    schema: identity,
  },
  errors: [],
  handle: async (_input, { read, principal: { userId, keyId, restrictions } }) => {
    const { key, user, workspaces } = await read(async (db) => ({
      key: await findApiKey(db, { userId, id: keyId }),
      user: await findKeyOwner(db, userId),
      workspaces: await asUser(db, userId, (trx) =>
        listMemberships(trx, userId, {
          limit: maxWorkspaces,
          direction: "asc",
          filter: { workspaceIds: readableWorkspaces(restrictions), acceptingKey: keyId },
        }),
      ),
    }));
    // Deleted since admission: the same response as for the next request.
    if (!key || !user) throw new AppError("FORBIDDEN");
    return { key: presentKey(key), user: presentUser(user), workspaces: workspaces.map(presentWorkspace) };
  },
});

function presentKey(key: ApiKey): z.input<typeof identity>["key"] {
  return {
    id: encodeId("key", key.id),
    name: key.name,
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    usageCount: key.usageCount,
  };
}

function presentUser({ id, name, kind, email }: KeyOwner): z.input<typeof identity>["user"] {
  return { id: encodeId("user", id), name, kind, email };
}
