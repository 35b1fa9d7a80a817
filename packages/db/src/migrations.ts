import type { Migration } from "kysely/migration";
import * as groundFloor from "./migrations/0001-ground-floor.ts";
import * as theWall from "./migrations/0002-the-wall.ts";
import * as narrowedKeys from "./migrations/0003-narrowed-keys.ts";
import * as accounts from "./migrations/0004-accounts.ts";

/** Every migration in order. Names are history: never renamed, never reordered, only added to. */
export const migrations: Readonly<Record<string, Migration>> = {
  "0001-ground-floor": groundFloor,
  "0002-the-wall": theWall,
  "0003-narrowed-keys": narrowedKeys,
  "0004-accounts": accounts,
};
