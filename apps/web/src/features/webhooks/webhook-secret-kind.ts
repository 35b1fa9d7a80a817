import type { SecretKind } from "../../ui/new-secret.tsx";

/** The secret of a webhook. */
export const webhookSecret: SecretKind = {
  noun: "secret",
  purpose: "Your server verifies messages with this secret.",
};
