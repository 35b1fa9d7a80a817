import type { UserId } from "@latchkey/db/ids";
import type { Position } from "@latchkey/db/page";
import type { Db } from "@latchkey/db/schema";
import { listSecurityEvents, type SecurityEvent } from "@latchkey/db/security-events";
import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { presentSecurityEvent } from "../../presenters/security-event.ts";
import { formatTime } from "../format.ts";
import { listOf, type View } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { nameDevice } from "./name-device.ts";

export const listSecurityEventsTask = defineTask({
  input: z.strictObject({ user: userReference }),
  perform: async ({ db }, { user }) => {
    const { id } = await getAccount(db, user);
    return listOf(readSecurityLog(db, id), { present: presentSecurityEvent, view, emptyText: "No events." });
  },
});

const view: View<ReturnType<typeof presentSecurityEvent>> = [
  { label: "Time", text: ({ occurredAt }) => formatTime(occurredAt) },
  { label: "Action", text: ({ action }) => action },
  { label: "Actor", text: ({ actor }) => actor.keyId ?? actor.kind },
  { label: "IP address", text: ({ address }) => address ?? "" },
  { label: "Device", text: ({ device }) => nameDevice(device) },
  { label: "API key", text: ({ key }) => key?.name ?? key?.id ?? "" },
];

/** How many events {@link readSecurityLog} keeps in memory at a time. */
const eventsPerPage = 100;

/** Reads the security log of a user, newest first. Events that are added while it is read don't appear. */
async function* readSecurityLog(db: Db, userId: UserId): AsyncGenerator<SecurityEvent> {
  let after: Position | undefined;
  do {
    const page = { sort: "occurredAt", direction: "desc", limit: eventsPerPage, after } as const;
    const events = await listSecurityEvents(db, userId, page);
    yield* events;
    const last = events.length === eventsPerPage ? events.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}
