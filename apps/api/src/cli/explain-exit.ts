import type { ErrorCode } from "@latchkey/errors";
import { CommanderError } from "commander";
import { UsageError } from "./usage-error.ts";

/** How the command ends: 0 for success, 1 for a command that failed, 2 for a command line that isn't valid. */
export interface Exit {
  readonly status: 0 | 1 | 2;
  readonly error?: { readonly code: ErrorCode; readonly message: string };
}

/** Explains what the command threw. Commander throws for `--help` and `--version` too. */
export async function explainExit(thrown: unknown): Promise<Exit> {
  if (thrown instanceof UsageError)
    return { status: 2, error: { code: "BAD_REQUEST", message: await hideKeys(thrown.message) } };
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return { status: 0 };
    return { status: 2, error: { code: "BAD_REQUEST", message: await hideKeys(explainMisuse(thrown)) } };
  }
  const { explainFailure } = await import("./explain-failure.ts");
  return { status: 1, error: explainFailure(thrown) };
}

/** Messages quote unknown commands and options, and names of files. A key can be in their place. */
async function hideKeys(message: string): Promise<string> {
  // Every key that can be recognized has an underscore, which may be percent-encoded. Few messages have one, so few load the module.
  if (!/[_%]/.test(message)) return message;
  const { redactKeys } = await import("@latchkey/auth/redact-keys");
  return redactKeys(message);
}

function explainMisuse({ code, message }: CommanderError): string {
  // Commander shows its help if a command is missing, and has no message for it.
  if (code === "commander.help") return "A command is missing. --help lists the commands.";
  return toSentence(message.replace(/^error: /, "").replaceAll("\n", " "));
}

/** Commander's messages begin in lower case, and most end without a period. */
function toSentence(message: string): string {
  const [, text = message, similar] = /^(.*) \(Did you mean (.+)\?\)$/.exec(message) ?? [];
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/[^.]$/, "$&.");
  return similar ? `${sentence} Did you mean ${similar}?` : sentence;
}
