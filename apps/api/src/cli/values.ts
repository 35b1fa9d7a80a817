import { isIpRange } from "@latchkey/auth/ip-ranges";
import { permissions, roles } from "@latchkey/auth/permissions";
import { decodeId } from "@latchkey/db/ids";
import { z } from "zod";
import type { UserReference } from "../domain/accounts.ts";
import { decodeTargetId, email, instant } from "../fields.ts";
import { overlapSeconds } from "../key-fields.ts";

/** How the values of arguments and options are read. Each message says what is allowed. */

export const keyId = idOf("key", "Expected the ID of an API key, such as key_01h455vb4pex5vsknk084sn02q.");

export const workspaceId = idOf(
  "workspace",
  "Expected the ID of a workspace, such as ws_01h455vb4pex5vsknk084sn02q.",
);

export const userId = idOf("user", "Expected the ID of a user, such as usr_01h455vb4pex5vsknk084sn02q.");

export const invitationId = idOf(
  "invitation",
  "Expected the ID of an invitation, such as inv_01h455vb4pex5vsknk084sn02q.",
);

export const webhookId = idOf(
  "webhook",
  "Expected the ID of a webhook, such as whk_01h455vb4pex5vsknk084sn02q.",
);

export const deliveryId = idOf(
  "delivery",
  "Expected the ID of a delivery, such as dlv_01h455vb4pex5vsknk084sn02q.",
);

export const keyspaceId = idOf(
  "keyspace",
  "Expected the ID of a keyspace, such as ks_01h455vb4pex5vsknk084sn02q.",
);

export const issuedKeyId = idOf(
  "issuedKey",
  "Expected the ID of an issued key, such as ikey_01h455vb4pex5vsknk084sn02q.",
);

export const serviceAccountId = idOf(
  "user",
  "Expected the ID of a service account, such as usr_01h455vb4pex5vsknk084sn02q.",
);

/** A user, by ID or by email address in any letter case. */
export const userReference = z.string().transform((text, context): UserReference => {
  const id = decodeId("user", text);
  if (id) return { id };
  const address = email.safeParse(text);
  if (address.success) return { email: address.data };
  context.addIssue({
    code: "custom",
    message: "Expected an email address or the ID of a user, such as usr_01h455vb4pex5vsknk084sn02q.",
  });
  return z.NEVER;
});

/** The ID of what an audit event is about: as a UUID, and as it was typed. */
export const auditTarget = z.string().transform((text, context): { id: string; text: string } => {
  const id = decodeTargetId(text);
  if (id) return { id, text };
  const message =
    "Expected the ID of a user, an API key, an invitation, a webhook, a keyspace, an issued key, a consumer or a workspace.";
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

/** A time in UTC, or a date, which stands for its beginning. */
export const time = z.string().transform((text, context) => {
  const full = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text;
  const parsed = instant.safeParse(full);
  if (parsed.success) return parsed.data;
  context.addIssue({
    code: "custom",
    message: "Expected a date or a time in UTC, such as 2026-03-01 or 2026-03-01T09:30:00Z.",
  });
  return z.NEVER;
});

export const role = z.enum(roles, `Expected ${listOf(roles)}.`);

/** The role of a service account, which can't be an owner. */
export const serviceAccountRole = role.exclude(["owner"], {
  error: `Expected ${listOf(roles.filter((name) => name !== "owner"))}.`,
});

export const permission = z.enum(permissions, `Expected ${listOf(permissions)}.`);

export const ipRange = z
  .string()
  .refine(isIpRange, "Expected an IP address or a range in CIDR notation, such as 203.0.113.0/24.");

const secondsByUnit = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** A duration such as `90s`, `15m`, `1h` or `30d`, in seconds. */
export const duration = z
  .string()
  .regex(/^\d{1,9}[smhd]$/, "Expected <number><unit> with the unit s, m, h or d, for example 15m.")
  .transform(
    (text) => Number(text.slice(0, -1)) * secondsByUnit[text.slice(-1) as keyof typeof secondsByUnit], // The pattern has checked the unit.
  );

/** How long an old secret stays valid after a rotation, in seconds. */
export const overlap = z
  .string()
  .refine(
    (text) => overlapSeconds.safeParse(duration.safeParse(text).data).success,
    "Expected a duration from 0s to 30d, for example 90m, 12h or 30d.",
  )
  .pipe(duration);

function idOf<
  Kind extends
    | "key"
    | "workspace"
    | "invitation"
    | "webhook"
    | "delivery"
    | "user"
    | "keyspace"
    | "issuedKey",
>(kind: Kind, message: string) {
  return z.string().transform((text, context) => {
    const id = decodeId(kind, text);
    if (id) return id;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
}

function listOf(choices: readonly string[]): string {
  return new Intl.ListFormat("en", { type: "disjunction" }).format(choices);
}
