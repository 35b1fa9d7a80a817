import type { Command } from "commander";
import type { CreateAction } from "../create-action.ts";

export function addOperatorCommands(program: Command, createAction: CreateAction): void {
  const operator = program.command("operator").description("users who manage the instance in the web app");
  operator
    .command("grant <user>")
    .description("make a user an operator, who manages the users of the instance in the web app")
    .action(createAction(async () => (await import("./set-operator.ts")).grantOperatorTask));
  operator
    .command("revoke <user>")
    .description("revoke the operator role of a user; rejected for the only operator who can sign in")
    .action(createAction(async () => (await import("./set-operator.ts")).revokeOperatorTask));
  operator
    .command("list")
    .description("list the operators of the instance, oldest account first")
    .action(createAction(async () => (await import("./list-operators.ts")).listOperatorsTask));
}
