import type { Migration } from "kysely/migration";
import * as groundFloor from "./migrations/0001-ground-floor.ts";

/** Every migration in order. Names are history: never renamed, never reordered, only added to. */
export const migrations: Readonly<Record<string, Migration>> = {
  "0001-ground-floor": groundFloor,
};
