import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The factor by which tests that look for races repeat their rounds: 1 in `test`, 5 in `soak`. */
    effort: number;
  }
}

export const effort = inject("effort");
