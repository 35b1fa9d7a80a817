import type { ListedSession } from "../../server/trpc.ts";
import { describeDevice } from "./describe-device.ts";

type OrderedSession = Pick<ListedSession, "device" | "lastUsedAt" | "createdAt">;

/**
 * Sorts sessions, all of which are loaded.
 * @param sort With a minus, in descending order. Undefined for the order of the API: the current session, then the last
 * used one.
 */
export function sortSessions<Session extends OrderedSession>(
  sessions: readonly Session[],
  sort: string | undefined,
): readonly Session[] {
  if (sort === undefined) return sessions;
  const order = sort.replace(/^-/, "");
  const keyOf = (session: Session) =>
    order === "lastUsedAt"
      ? session.lastUsedAt
      : order === "createdAt"
        ? session.createdAt
        : describeDevice(session.device);
  const sorted = sessions.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other)));
  return sort.startsWith("-") ? sorted.toReversed() : sorted;
}

/** Finds sessions by a part of their device or IP address, in any letter case. */
export function findSessions<Session extends Pick<ListedSession, "device" | "address">>(
  sessions: readonly Session[],
  search: string,
): readonly Session[] {
  const text = search.trim().toLowerCase();
  return sessions.filter(({ device, address }) =>
    `${describeDevice(device)}\n${address ?? ""}`.toLowerCase().includes(text),
  );
}
