import { Verifier } from "@latchkey/auth/verifier";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { presentVerification } from "../../presenters/verification.ts";
import {
  requestedLimits,
  toVerification,
  verificationCost,
  verificationRequest,
} from "../../verification-fields.ts";
import { formatTime } from "../format.ts";
import { itemOf, type View } from "../result.ts";
import { defineTask } from "../task.ts";
import { keyspaceId, workspaceId } from "../values.ts";

const { key, permissions, clientIp } = verificationRequest.shape;

/** A limit such as `exports` or `exports=5`. */
const limit = z
  .string()
  .regex(/^[a-z0-9_-]+(?:=\d{1,10})?$/, "Expected <name> or <name>=<cost>, for example exports=5.")
  .transform((text) => {
    const [name = "", cost] = text.split("=");
    return cost === undefined ? { name } : { name, cost: Number(cost) };
  });

const cost = z
  .string()
  .regex(/^\d{1,10}$/, "Expected a whole number, such as 1.")
  .transform(Number)
  .pipe(verificationCost);

export const verifyKeyTask = defineTask({
  input: z.strictObject({
    workspace: workspaceId,
    keyspace: keyspaceId.optional(),
    keyStdin: z.literal(true),
    key,
    permissions,
    clientIp,
    limit: z.array(limit).pipe(requestedLimits).default([]),
    cost,
  }),
  secret: { name: "key", option: "--key-stdin" },
  perform: async ({ prepared }, { workspace, keyspace, keyStdin: _keyStdin, limit, ...request }) => {
    const verifier = new Verifier({ connection: prepared.connection });
    try {
      const verification = {
        ...toVerification({ ...request, ...(keyspace && { keyspaceId: keyspace }), limits: limit, tags: [] }),
        workspaceId: workspace,
      };
      const outcome = await verifier.verifyWithoutKey("command", verification);
      if (outcome?.kind === "unknown-limit") throw unknownLimit(outcome);
      // A request without an `Idempotency-Key` has no other outcome.
      const result = outcome?.kind === "verified" ? outcome.results[0] : undefined;
      if (!result) throw new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 });
      return itemOf(presentVerification(result), view);
    } finally {
      await verifier.close();
    }
  },
});

/** Has the position of the option, such as `--limit 2` for the second one. */
function unknownLimit({ limit }: { readonly limit: number }): AppError {
  const message = "The key and its consumer have no limit with this name.";
  return new AppError("BAD_REQUEST", {
    issues: [{ path: `--limit ${limit + 1}`, code: "not_found", message }],
  });
}

const view: View<ReturnType<typeof presentVerification>> = [
  { label: "Result", text: ({ code }) => code },
  { label: "Key ID", text: ({ keyId }) => keyId ?? "none" },
  { label: "Keyspace ID", text: ({ keyspaceId }) => keyspaceId ?? "none" },
  { label: "External ID", text: ({ externalId }) => externalId ?? "none" },
  { label: "Permissions", text: ({ permissions }) => permissions?.join("\n") || "none" },
  { label: "Expires", text: ({ expiresAt }) => (expiresAt ? formatTime(expiresAt) : "never") },
  { label: "Credits", text: ({ credits }) => (credits ? String(credits.remaining) : "unlimited") },
  {
    label: "Limits",
    text: ({ limits }) =>
      limits?.map(({ name, remaining, quota }) => `${name}: ${remaining} of ${quota} remaining`).join("\n") ||
      "none",
  },
];
