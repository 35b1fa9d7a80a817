#!/usr/bin/env node
import type { AppError, ErrorCode } from "@latchkey/errors";
import { CommanderError } from "commander";
import { EnvError, readEnv } from "../env.ts";
import { translateFailure } from "../failure.ts";
import { StartError } from "../start-error.ts";
import { createProgram } from "./program.ts";

/** Exit status of a command that could not do what it was asked to. */
const failed = 1;
/** Exit status of a command that was not understood. */
const misused = 2;

createProgram(readEnv)
  .parseAsync()
  .catch((error: unknown) => {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : misused;
      if (error.exitCode !== 0) report("BAD_REQUEST", explainMisuse(error));
      return;
    }
    process.exitCode = failed;
    if (error instanceof StartError) return report("SERVICE_UNAVAILABLE", error.message);
    if (error instanceof EnvError) return report("BAD_REQUEST", error.message);
    const failure = translateFailure(error);
    report(failure.code, explain(failure));
  });

function report(code: ErrorCode, message: string): void {
  process.stderr.write(`${JSON.stringify({ error: { code, message } })}\n`);
}

function explainMisuse({ code, message }: CommanderError): string {
  // Commander shows its help where a command is missing, and has no words for it.
  if (code === "commander.help") return "A command is missing; --help lists them.";
  return message.replace(/^error: /, "");
}

function explain(failure: AppError): string {
  const issues = failure.issues
    ?.map(({ path, message }) => (path ? `${path}: ${message}` : message))
    .join("; ");
  return issues ?? failure.message;
}
