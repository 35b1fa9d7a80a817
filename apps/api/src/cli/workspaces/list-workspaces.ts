import { openDatabase } from "@latchkey/db/connection";
import { z } from "zod";
import { listAllWorkspaces, type WorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { listOf } from "../result.ts";
import { defineTask, type TaskContext } from "../task.ts";
import { presentSummary, workspaceView } from "./workspace-view.ts";

export const listWorkspacesTask = defineTask({
  input: z.strictObject({}),
  perform: (context) =>
    listOf(readWorkspaces(context), {
      present: presentSummary,
      view: workspaceView,
      emptyText: "No workspaces.",
    }),
});

async function* readWorkspaces({ db, prepared }: TaskContext): AsyncGenerator<WorkspaceSummary> {
  const admissionDb = openDatabase(prepared.connection, {
    role: "latchkey_admission",
    applicationName: "latchkey command",
    maxConnections: 1,
  });
  try {
    yield* listAllWorkspaces(db, admissionDb);
  } finally {
    await admissionDb.destroy();
  }
}
