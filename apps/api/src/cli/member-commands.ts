import { roles } from "@latchkey/auth/permissions";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId } from "@latchkey/db/ids";
import type { Command } from "commander";
import { z } from "zod";
import { getAccount } from "../domain/accounts.ts";
import { addMember, removeMember } from "../domain/members.ts";
import { email, workspaceId } from "../fields.ts";
import { commandOrigin } from "./command-origin.ts";
import { parseOptions } from "./parse-options.ts";
import type { Perform } from "./performer.ts";

export function addMemberCommands(program: Command, perform: Perform): void {
  const member = program.command("member").description("users in workspaces");
  member
    .command("add")
    .description("let a user into a workspace; in force at once for their keys and sessions")
    .requiredOption("--workspace <id>", "the workspace's id")
    .requiredOption("--user <email>", "who is let in")
    .requiredOption("--role <role>", `what they may do there: ${listedRoles}`)
    .action((options: unknown) =>
      perform(async (db, _ground, quotas) => {
        const { workspace, user, role } = parseOptions(newMember, options);
        const { id: userId } = await getAccount(db, user);
        const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
        await db.transaction().execute((trx) => addMember(trx, edit, { userId, role }, quotas));
        return { workspaceId: encodeId("workspace", workspace), userId: encodeId("user", userId), role };
      }),
    );
  member
    .command("remove")
    .description(
      "take a user out of a workspace; neither their keys nor their sessions reach it from then on",
    )
    .requiredOption("--workspace <id>", "the workspace's id")
    .requiredOption("--user <email>", "who is taken out")
    .action((options: unknown) =>
      perform(async (db) => {
        const { workspace, user } = parseOptions(formerMember, options);
        const { id: userId } = await getAccount(db, user);
        const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
        await db.transaction().execute((trx) => removeMember(trx, edit, { userId }));
        return {
          workspaceId: encodeId("workspace", workspace),
          userId: encodeId("user", userId),
          removed: true,
        };
      }),
    );
}

const listedRoles = new Intl.ListFormat("en", { type: "disjunction" }).format(roles);
const formerMember = z.strictObject({ workspace: workspaceId, user: email });
const newMember = formerMember.extend({ role: z.enum(roles, `Use ${listedRoles}.`) });
