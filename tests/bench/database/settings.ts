import type pg from "pg";

/** The values that `SHOW` returns, by name. */
export type Settings = Readonly<Record<string, string>>;

const names = [
  "server_version",
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "wal_sync_method",
  "wal_level",
  "commit_delay",
  "shared_buffers",
  "max_wal_size",
  "checkpoint_timeout",
  "autovacuum",
] as const;

/** Without these settings, commits aren't durable, and the figures would be meaningless. */
const required = { fsync: "on", synchronous_commit: "on", full_page_writes: "on" } as const;

/** Reads the settings. @throws an Error if a setting that durability needs is off. */
export async function readSettings(client: pg.Client): Promise<Settings> {
  const settings: Record<string, string> = {};
  for (const name of names) {
    const { rows } = await client.query<Record<string, string>>(`show ${name}`);
    settings[name] = rows[0]?.[name] ?? "";
  }
  for (const [name, value] of Object.entries(required)) {
    if (settings[name] !== value) throw new Error(`${name} is ${settings[name]} and must be ${value}.`);
  }
  return settings;
}
