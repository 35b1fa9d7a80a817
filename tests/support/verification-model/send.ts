import { type Keyspace, pathOf } from "../keyspace.ts";
import { type AnswerModel, type ResultModel, toFiveMinutes } from "./model.ts";

/** A request that verifies keys. */
export interface VerificationRequest {
  readonly verifications: readonly object[];
  readonly idempotencyKey?: string | undefined;
}

interface ShownResult extends Pick<ResultModel, "code"> {
  readonly credits: { readonly remaining: number } | null;
  readonly limits: readonly (Omit<ResultModel["limits"][number], "resetsInMinutes"> & {
    readonly resetsInSeconds: number;
  })[];
}

/** Verifies keys on a node: one with the endpoint for one, several with the one for batches. */
export async function sendVerifications(
  { baseUrl, callerKey }: Keyspace,
  { verifications, idempotencyKey }: VerificationRequest,
): Promise<AnswerModel> {
  const isBatch = verifications.length > 1;
  const response = await fetch(`${baseUrl}/open/keys/${isBatch ? "verify-batch" : "verify"}`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${callerKey}`,
      "Content-Type": "application/json",
      ...(idempotencyKey ? { "Idempotency-Key": idempotencyKey } : {}),
    },
    body: JSON.stringify(isBatch ? { verifications } : verifications[0]),
  });
  const body = (await response.json()) as Partial<ShownResult> & {
    readonly data?: readonly ShownResult[];
    readonly error?: { readonly code: string };
  }; // The endpoint's response, or an error.
  if (body.error) return `${response.status} ${body.error.code}`;
  return (body.data ?? [body as ShownResult]).map(toResult); // It isn't an error.
}

function toResult({ code, credits, limits }: ShownResult): ResultModel {
  return {
    code,
    credits: credits?.remaining ?? null,
    limits: limits.map(({ name, quota, remaining, resetsInSeconds, isExceeded }) => ({
      name,
      quota,
      remaining,
      resetsInMinutes: toFiveMinutes(resetsInSeconds * 1_000),
      isExceeded,
    })),
  };
}

/** Changes the balance of a key. @returns the new one; undefined for a conflict. */
export async function sendBalance(node: Keyspace, id: string, change: object): Promise<number | undefined> {
  const response = await fetch(`${node.baseUrl}/open${pathOf(node)}/keys/${id}/credits`, {
    method: "POST",
    headers: { Authorization: `Bearer ${node.callerKey}`, "Content-Type": "application/json" },
    body: JSON.stringify(change),
  });
  const { credits, error } = (await response.json()) as {
    readonly credits?: { readonly remaining: number };
    readonly error?: { readonly code: string };
  }; // The endpoint's response, or an error.
  if (error && response.status !== 409)
    throw new Error(`A change to credits returned ${response.status} ${error.code}.`);
  return credits?.remaining;
}

export function expectSame(found: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) throw new Error(`The model expects ${other}, but the product returned ${one}.`);
}
