import { Verifier } from "@latchkey/auth/verifier";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { presentVerification } from "../../presenters/verification.ts";
import { toVerification, verificationRequest } from "../../verification-fields.ts";
import { formatTime } from "../format.ts";
import { itemOf, type View } from "../result.ts";
import { defineTask } from "../task.ts";
import { keyspaceId, workspaceId } from "../values.ts";

const { key, permissions, clientIp } = verificationRequest.shape;
const cost = z
  .string()
  .regex(/^\d{1,10}$/, "Expected a whole number, such as 1.")
  .transform(Number)
  .pipe(verificationRequest.shape.cost.unwrap());

export const verifyKeyTask = defineTask({
  input: z.strictObject({
    workspace: workspaceId,
    keyspace: keyspaceId.optional(),
    keyStdin: z.literal(true),
    key,
    permissions,
    clientIp,
    cost,
  }),
  secret: { name: "key", option: "--key-stdin" },
  perform: async ({ prepared }, { workspace, keyspace, keyStdin: _keyStdin, ...request }) => {
    const verifier = new Verifier({ connection: prepared.connection });
    try {
      const verification = {
        ...toVerification({ ...request, ...(keyspace && { keyspaceId: keyspace }), limits: [], tags: [] }),
        workspaceId: workspace,
      };
      const outcome = await verifier.verifyWithoutKey("command", verification);
      // A request without names of limits has no other outcome.
      const result = outcome?.kind === "verified" ? outcome.results[0] : undefined;
      if (!result) throw new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 });
      return itemOf(presentVerification(result), view);
    } finally {
      await verifier.close();
    }
  },
});

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
