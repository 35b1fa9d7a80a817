import { listSessions } from "@latchkey/db/sessions";
import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { presentListedSession } from "../../presenters/session.ts";
import { formatTime } from "../format.ts";
import { listOf, type View } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { nameDevice } from "./name-device.ts";

export const listSessionsTask = defineTask({
  input: z.strictObject({ user: userReference }),
  perform: async ({ db }, { user }) => {
    const { id } = await getAccount(db, user);
    const sessions = await listSessions(db, id);
    return listOf(sessions, { present: presentListedSession, view, emptyText: "No sessions." });
  },
});

const view: View<ReturnType<typeof presentListedSession>> = [
  { label: "ID", text: ({ id }) => id },
  { label: "Last used", text: ({ lastUsedAt }) => formatTime(lastUsedAt) },
  { label: "Signed in", text: ({ createdAt }) => formatTime(createdAt) },
  { label: "IP address", text: ({ address }) => address ?? "" },
  { label: "Device", text: ({ device }) => nameDevice(device) },
];
