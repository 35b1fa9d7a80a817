import type { Command } from "commander";
import type { CreateAction } from "../create-action.ts";

export function addInstanceCommands(program: Command, createAction: CreateAction): void {
  const instance = program.command("instance").description("the instance as a whole");
  instance
    .command("show")
    .description("show the health of the database and of the job queue, and the configuration of the command")
    .action(createAction(async () => (await import("./show-instance.ts")).showInstanceTask));
  instance
    .command("log")
    .description("list the changes by operators, and the deletions of users and workspaces, newest first")
    .option("--from <time>", "only events at this time or later: a date or a time in UTC")
    .option("--to <time>", "only events before this time")
    .option("--action <action>", "only events with this action, such as user.disabled")
    .option("--actor <id>", "only changes made by the user with this ID")
    .option("--user <id>", "only events about the user with this ID, who may have been deleted")
    .option("--workspace <id>", "only events about the workspace with this ID")
    .action(createAction(async () => (await import("./list-instance-events.ts")).listInstanceEventsTask));
}
