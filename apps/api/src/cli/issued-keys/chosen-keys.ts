import type { KeyspaceId } from "@latchkey/db/ids";
import type { ChosenKeys } from "@latchkey/db/issued-key-bulk";
import { locateIssuedKeys } from "@latchkey/db/locate-keyspace";
import type { Db } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import { issuedKeyLimits } from "@latchkey/limits";
import { z } from "zod";
import type { Edit } from "../../domain/enter-for-edit.ts";
import { externalId } from "../../issued-key-fields.ts";
import { issuedKeyId, keyspaceId } from "../values.ts";
import { findKeyspaceEdit, toEdit } from "./find-keyspace.ts";

const { maxKeysPerConsumer: maxKeys } = issuedKeyLimits;

const fields = {
  ids: z.array(issuedKeyId).max(maxKeys, `Specify at most ${maxKeys} keys.`),
  externalId: externalId.optional(),
  keyspace: keyspaceId.optional(),
};

type Choice = z.output<z.ZodObject<typeof fields>>;

/** The input of a command for several keys: their IDs, or the consumer whose keys they are. */
export function keyChoice<Fields extends z.ZodRawShape>(others: Fields) {
  return z.strictObject({ ...fields, ...others }).refine((input) => {
    const { ids, externalId, keyspace } = input as unknown as Choice; // The object has these fields, whatever the others are.
    return ids.length > 0
      ? externalId === undefined && keyspace === undefined
      : externalId !== undefined && keyspace !== undefined;
  }, "Specify the IDs of keys, or --external-id and --keyspace.");
}

/** The keys of one keyspace to change together. */
export interface KeyspaceKeys {
  readonly edit: Edit;
  readonly keyspaceId: KeyspaceId;
  readonly chosen: ChosenKeys;
}

/**
 * Finds the keyspace of keys that are given by their IDs, and opens its workspace.
 * @throws {AppError} NOT_FOUND for an unknown keyspace, or if none of the IDs exists; BAD_REQUEST for keys of several keyspaces.
 */
export async function findChosenKeys(db: Db, { ids, externalId, keyspace }: Choice): Promise<KeyspaceKeys> {
  if (externalId !== undefined && keyspace !== undefined)
    return { edit: await findKeyspaceEdit(db, keyspace), keyspaceId: keyspace, chosen: { externalId } };
  const [location, ...others] = await locateIssuedKeys(db, ids);
  if (!location) throw noSuchKeys({ ids });
  if (others.length > 0) {
    const message = "The keys belong to several keyspaces. Specify keys of one keyspace at a time.";
    throw new AppError("BAD_REQUEST", { message });
  }
  return { edit: toEdit(location), keyspaceId: location.keyspaceId, chosen: { ids } };
}

/** The error if none of the chosen keys exists. */
export function noSuchKeys(chosen: ChosenKeys): AppError {
  const ofConsumer = "The keyspace has no keys with this external ID.";
  const ofIds = (count: number) =>
    count === 1 ? "There is no such issued key." : "There are no such issued keys.";
  return new AppError("NOT_FOUND", { message: "ids" in chosen ? ofIds(chosen.ids.length) : ofConsumer });
}

/** Formats the IDs of keys that don't exist, one per line. */
export function describeNotFound({ notFound }: { readonly notFound: readonly string[] }): string {
  return notFound.join("\n") || "none";
}
