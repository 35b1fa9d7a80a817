/** What errors with the same origin have in common. No part of it is text that a caller can vary. */
export interface ErrorKind {
  /** The error's class. */
  readonly error: string;
  /** The SQLSTATE, or the code of Node or of Latchkey; undefined for an error without one. */
  readonly code: string | undefined;
  /** The file and line of Latchkey's code that threw or called; undefined if the stack has none. */
  readonly at: string | undefined;
}

/**
 * Determines the kind of anything thrown. Never throws, even if the error's getters throw.
 */
export function kindOfError(error: unknown): ErrorKind {
  if (!(error instanceof Error)) return { error: typeof error, code: undefined, at: undefined };
  try {
    return { error: error.constructor.name, code: codeOf(error), at: findFrame(error) };
  } catch {
    return { error: "Error", code: undefined, at: undefined };
  }
}

/** A SQLSTATE has five characters. Node's codes are the longest. */
const wellFormedCode = /^[A-Z0-9_]{1,64}$/;

function codeOf(error: Error): string | undefined {
  if (!("code" in error) || typeof error.code !== "string") return undefined;
  return wellFormedCode.test(error.code) ? error.code : undefined;
}

const ownFrame = /^\s+at .*?((?:apps|packages)\/[\w/.-]+\.ts:\d+):\d+\)?$/m;

function findFrame({ message, stack = "" }: Error): string | undefined {
  // The stack begins with the message, which could contain a caller's text that looks like a frame.
  const position = message === "" ? -1 : stack.indexOf(message);
  const frames = position === -1 ? stack : stack.slice(position + message.length);
  return frames
    .split("\n")
    .filter((line) => !line.includes("node_modules"))
    .map((line) => ownFrame.exec(line)?.[1])
    .find((frame) => frame !== undefined);
}
