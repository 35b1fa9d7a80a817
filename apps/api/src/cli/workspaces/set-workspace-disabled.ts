import type { WorkspaceId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { z } from "zod";
import { countContents, setDisabled } from "../../domain/disabled-workspaces.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { presentWorkspaceCounts } from "../../presenters/workspace-overview.ts";
import { commandOrigin } from "../command-origin.ts";
import { type ItemResult, itemOf, type View } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { presentSummary, workspaceView } from "./workspace-view.ts";

function defineChange(isDisabled: boolean) {
  return defineTask({
    input: z.strictObject({ id: workspaceId, preview: z.boolean().default(false) }),
    perform: ({ db }, { id, preview }) => (preview ? previewCounts(db, id) : change(db, id, isDisabled)),
  });
}

export const disableWorkspaceTask = defineChange(true);
export const enableWorkspaceTask = defineChange(false);

async function change(db: Db, id: WorkspaceId, isDisabled: boolean): Promise<ItemResult> {
  const summary = await db.transaction().execute(async (trx) => {
    await setDisabled(trx, id, { isDisabled, origin: commandOrigin });
    return await getWorkspaceSummary(trx, id);
  });
  return itemOf(presentSummary(summary), workspaceView);
}

async function previewCounts(db: Db, id: WorkspaceId): Promise<ItemResult> {
  return itemOf(presentWorkspaceCounts(await countContents(db, id)), countsView);
}

const countsView: View<ReturnType<typeof presentWorkspaceCounts>> = [
  { label: "ID", text: ({ id }) => id },
  { label: "Name", text: ({ name }) => name },
  { label: "Status", text: ({ isDisabled }) => (isDisabled ? "disabled" : "enabled") },
  { label: "People", text: ({ memberCount }) => String(memberCount) },
  { label: "Service accounts", text: ({ serviceAccountCount }) => String(serviceAccountCount) },
  { label: "API keys", text: ({ apiKeyCount }) => String(apiKeyCount) },
  { label: "Issued keys", text: ({ issuedKeyCount }) => String(issuedKeyCount) },
];
