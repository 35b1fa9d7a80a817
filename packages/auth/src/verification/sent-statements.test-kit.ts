import type pg from "pg";
import { afterEach, beforeEach, onTestFinished, vi } from "vitest";
import { interceptStatements } from "../intercept-statements.test-kit.ts";
import { codesOf, type TestIssuedKey, type TestKeyspace, verificationOf } from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

/** The deadline of requests in tests that advance a node's time to it, in milliseconds. */
export const deadlineMs = 1_500;

/** No row has its ID, so it is looked up each time. */
export const unknownKey: TestIssuedKey = { id: "unknown" as TestIssuedKey["id"], secret: "acme_unknown" };

/** What verifiers send during a test. */
export interface SentStatements {
  /** The names, or the texts, of the statements. A test empties it. */
  names: string[];
  /** See {@link interceptStatements}. Each test starts without one. */
  onSent: (statement: string, client: pg.Client) => Promise<unknown> | undefined;
}

const ignore = () => undefined;

/** Records the statements of the tests of a file. */
export function recordStatements(): SentStatements {
  const sent: SentStatements = { names: [], onSent: ignore };
  beforeEach(() => {
    sent.names = [];
    sent.onSent = ignore;
    return interceptStatements((statement, client) => {
      sent.names.push(statement);
      return sent.onSent(statement, client);
    });
  });
  afterEach(() => {
    sent.onSent = ignore;
  });
  return sent;
}

/** Verifies several keys with one request. */
export async function verifyAll(
  node: Verifier,
  { caller }: TestKeyspace,
  keys: readonly TestIssuedKey[],
): Promise<readonly string[]> {
  const verifications = keys.map((key) => verificationOf(key));
  return codesOf(await node.verify(caller.secret, { address: undefined, name: undefined, verifications }));
}

/** Replaces the node's time by one that only the test advances. */
export function useFakeTime(): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}
