import { openDatabase } from "@latchkey/db/connection";
import { encodeId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import type { Command } from "commander";
import { z } from "zod";
import type { Ground } from "../boot.ts";
import { getAccount } from "../domain/accounts.ts";
import { createWorkspace, listAllWorkspaces } from "../domain/workspaces.ts";
import { email, workspaceName } from "../fields.ts";
import { commandOrigin } from "./command-origin.ts";
import { parseOptions } from "./parse-options.ts";
import type { Perform } from "./performer.ts";

export function addWorkspaceCommands(program: Command, perform: Perform): void {
  const workspace = program.command("workspace").description("tenants, and who may enter them");
  workspace
    .command("create")
    .description("make a workspace; its address is made from its name and stays")
    .requiredOption("--owner <email>", "its first owner")
    .requiredOption("--name <name>", "what the workspace is called")
    .action((options: unknown) =>
      perform(async (db, _ground, quotas) => {
        const { owner, name } = parseOptions(newWorkspace, options);
        const { id: ownerId } = await getAccount(db, owner);
        const { id, slug } = await db
          .transaction()
          .execute((trx) => createWorkspace(trx, { name, ownerId, origin: commandOrigin }, quotas));
        return { workspaceId: encodeId("workspace", id), slug };
      }),
    );
  workspace
    .command("list")
    .description("print every workspace of the instance, in the order of their ids")
    .action(() => perform((db, ground) => ({ name: "workspaces", items: readWorkspaces(db, ground) })));
}

const newWorkspace = z.strictObject({ owner: email, name: workspaceName });

async function* readWorkspaces(db: Db, { connection }: Ground) {
  const admissionDb = openDatabase(connection, {
    role: "latchkey_admission",
    applicationName: "latchkey command",
    maxConnections: 1,
  });
  try {
    for await (const { id, name, slug, memberCount, createdAt } of listAllWorkspaces(db, admissionDb)) {
      yield {
        id: encodeId("workspace", id),
        name,
        slug,
        members: memberCount,
        createdAt: createdAt.toISOString(),
      };
    }
  } finally {
    await admissionDb.destroy();
  }
}
