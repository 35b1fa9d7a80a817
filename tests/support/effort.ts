import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** How many times as often as in `test` a test repeats what it looks for a race in: 5 in `soak`. */
    effort: number;
  }
}

export const effort = inject("effort");
