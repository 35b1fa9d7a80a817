import type { Command } from "commander";
import type { CreateAction } from "../create-action.ts";

export function addUserCommands(program: Command, createAction: CreateAction): void {
  const user = program.command("user").description("people who can sign in");
  user
    .command("create")
    .description("create a user and their first workspace; create the embedded database if there is none")
    .requiredOption("--email <email>", "the email address that the user signs in with")
    .requiredOption("--name <name>", "the user's name")
    .requiredOption("--password-stdin", "read the password from standard input")
    .option("--workspace <name>", "the name of the first workspace (default: named after the user)")
    .action(createAction(async () => (await import("./create-user.ts")).createUserTask));
  user
    .command("list")
    .description("list the users of the instance, oldest first")
    .option(
      "--search <text>",
      "only users whose name or email address contains this, or the user with this ID",
    )
    .action(createAction(async () => (await import("./list-users.ts")).listUsersTask));
  user
    .command("reset-link <user>")
    .description("create a password reset link, which works once; earlier links become invalid")
    .option("--expires-in <duration>", "how long the link is valid, from 60s to 7d (default: 24h)")
    .action(createAction(async () => (await import("./create-reset-link.ts")).createResetLinkTask));
  user
    .command("reset-factors <user>")
    .description(
      "remove a user's authenticator app, passkeys and recovery codes, and end their sessions; the password stays",
    )
    .action(createAction(async () => (await import("./reset-factors.ts")).resetFactorsTask));
  user
    .command("sessions <user>")
    .description("list a user's active sessions, most recently used first")
    .action(createAction(async () => (await import("./list-sessions.ts")).listSessionsTask));
  user
    .command("security-log <user>")
    .description("list what happened to a user's account and API keys, newest first")
    .action(createAction(async () => (await import("./list-security-events.ts")).listSecurityEventsTask));
  user
    .command("unlink-identity <user>")
    .description(
      "unlink a user from the OpenID provider and end their sessions; the password and API keys keep working",
    )
    .action(createAction(async () => (await import("./unlink-identity.ts")).unlinkIdentityTask));
  user
    .command("email <user>")
    .description("change the email address of a user")
    .requiredOption("--email <email>", "the new email address")
    .action(createAction(async () => (await import("./change-email.ts")).changeEmailTask));
  user
    .command("end-sessions <user>")
    .description("end all sessions of a user, who can sign in again; their API keys keep working")
    .action(createAction(async () => (await import("./end-sessions.ts")).endSessionsTask));
  user
    .command("disable <user>")
    .description("end a user's sessions and reject all of their API keys, until the user is enabled again")
    .action(createAction(async () => (await import("./set-user-disabled.ts")).disableUserTask));
  user
    .command("enable <user>")
    .description("let a disabled user sign in again, and allow their API keys again")
    .action(createAction(async () => (await import("./set-user-disabled.ts")).enableUserTask));
  user
    .command("delete <user>")
    .description(
      "delete a user, their API keys, and the workspaces in which they are the only member; this can't be undone",
    )
    .requiredOption("--confirm <email>", "the email address of the user, to confirm the deletion")
    .action(createAction(async () => (await import("./delete-user.ts")).deleteUserTask));
}
