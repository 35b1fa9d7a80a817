/** A limit of an issued key or a consumer: at most `quota` per window. */
export interface NamedLimit {
  /** Identifies the limit in requests; unique among the limits of the key or consumer. */
  readonly name: string;
  readonly quota: number;
  readonly windowSeconds: number;
  /** Whether the limit applies to every request; otherwise, only to requests that name it. */
  readonly appliesAlways: boolean;
}

/** When the credits of a key are refilled, at midnight UTC. A refill never reduces the balance. */
export interface Refill {
  /** The balance after a refill. */
  readonly amount: number;
  readonly interval: "daily" | "monthly";
  /** The day of the month, from 1 to 31; the last day in shorter months. Null for a daily refill. */
  readonly day: number | null;
}

/** How much a key can still be used, and when that is refilled. */
export interface Credits {
  readonly remaining: number;
  readonly refill: Refill | null;
}
