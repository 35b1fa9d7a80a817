import { createApiKey } from "@latchkey/auth/key-format";
import { createId, type KeyId, type WorkspaceId } from "@latchkey/db/ids";
import type { PastRow } from "@latchkey/db/past-rows";
import { toHex } from "@latchkey/db/past-rows";
import { namedPeople, type Person } from "./people.ts";
import type { Random } from "./random.ts";

/** How a key is used: around the clock, on working days, once per night, or never. */
type Profile = "service" | "office" | "nightly" | "unused";

/** An API key of a demo. Its secret doesn't exist, so no request can use it. */
export interface DemoKey {
  readonly id: KeyId;
  readonly owner: Person;
  readonly name: string;
  readonly profile: Profile;
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  readonly row: PastRow<"api_keys">;
  /** The secret that a rotation replaced; null for a key that was never rotated. */
  readonly formerSecret: PastRow<"retired_secrets"> | null;
}

const subjects = ["Billing", "Search", "Warehouse", "Mobile app", "Partner", "Grafana", "Support", "Catalog"];
const purposes = ["export", "import", "sync", "dashboard", "pipeline", "webhook relay", "reports", "staging"];
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Invents the API keys of people: active, restricted, rate limited, disabled, expired and expiring ones. */
export function createKeys(
  random: Random,
  { people, workspaceId, now }: { people: readonly Person[]; workspaceId: WorkspaceId; now: Date },
): readonly DemoKey[] {
  const owners = people.filter((_, index) => index < namedPeople || random.next() < 0.25);
  return owners.flatMap((owner) =>
    Array.from({ length: random.integer(1, 3) }, () => createKey(random, { owner, workspaceId, now })),
  );
}

function createKey(
  random: Random,
  { owner, workspaceId, now }: { owner: Person; workspaceId: WorkspaceId; now: Date },
): DemoKey {
  const id = createId("key");
  const { start, hash } = createApiKey();
  const name = `${random.pick(subjects)} ${random.pick(purposes)}`;
  const createdAt = random.time(owner.joinedAt, now);
  const state = random.weighted({ active: 80, disabled: 6, expiring: 6, expired: 8 });
  const disabledAt = state === "disabled" ? random.time(createdAt, now) : null;
  const expiresAt = {
    active: random.next() < 0.5 ? null : new Date(now.getTime() + random.integer(10, 300) * dayMs),
    disabled: null,
    expiring: new Date(now.getTime() + random.integer(2, 140) * hourMs),
    expired: random.time(createdAt, now),
  }[state];
  const limit = random.pick([null, null, null, 60, 600]);
  const row = {
    id,
    user_id: owner.id,
    name,
    description: random.pick(["", "", "Runs in production", "Owned by the platform team", "Used in CI"]),
    start,
    hash: toHex(hash),
    created_at: createdAt,
    updated_at: disabledAt ?? createdAt,
    disabled_at: disabledAt,
    expires_at: expiresAt,
    workspace_ids: random.next() < 0.4 ? [workspaceId] : null,
    is_read_only: random.next() < 0.3,
    ip_ranges: random.next() < 0.2 ? ["203.0.113.0/24"] : null,
    limit_quota: limit,
    limit_window_seconds: limit && 60,
  };
  const profile = random.weighted({ office: 45, nightly: 25, service: 3, unused: 27 });
  const formerSecret = random.next() < 0.1 ? createFormerSecret(random, { id, createdAt, now }) : null;
  return { id, owner, name, profile, createdAt, disabledAt, row, formerSecret };
}

/** An old secret whose overlap ends soon, so that its key is being rotated, or has ended, so that it was rejected. */
function createFormerSecret(
  random: Random,
  { id, createdAt, now }: { id: KeyId; createdAt: Date; now: Date },
): PastRow<"retired_secrets"> {
  const { start, hash } = createApiKey();
  const isInOverlap = random.next() < 0.5;
  const retiredAt = isInOverlap ? new Date(now.getTime() - dayMs) : random.time(createdAt, now);
  const goodUntil = isInOverlap ? new Date(now.getTime() + random.integer(1, 6) * dayMs) : retiredAt;
  return {
    hash: toHex(hash),
    key_id: id,
    start,
    retired_at: retiredAt,
    good_until: goodUntil,
    refused_at: isInOverlap ? null : random.time(retiredAt, now),
  };
}

/** How many requests a key makes in an hour. */
export function usesInHour(random: Random, profile: Profile, hour: Date): number {
  const hourOfDay = hour.getUTCHours();
  const isWorkingDay = hour.getUTCDay() % 6 !== 0;
  if (profile === "service") return random.integer(40, 400);
  if (profile === "nightly") return hourOfDay === 2 ? random.integer(5, 60) : 0;
  if (profile === "office")
    return isWorkingDay && hourOfDay >= 8 && hourOfDay < 17 ? random.integer(0, 40) : 0;
  return 0;
}
