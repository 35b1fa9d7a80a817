import { encodeId } from "@latchkey/db/ids";
import type { ListedSession } from "@latchkey/db/sessions";
import { parseDevice } from "../domain/devices.ts";

/** A session in the list of its user, for the web app. */
export function presentListedSession({ id, createdAt, lastUsedAt, address, userAgent }: ListedSession) {
  return {
    id: encodeId("session", id),
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt.toISOString(),
    address,
    device: parseDevice(userAgent),
  };
}
