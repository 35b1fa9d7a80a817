/** The one place of the tests that reads the environment. */
export const env = {
  /** A Chromium to use in place of the bundled one. */
  chromePath: process.env.CHROME_PATH || undefined,
  /** Where npm keeps its cache. */
  home: process.env.HOME,
  /** Whether turbo runs the tests, and has built what they depend on. */
  isRunByTurbo: process.env.TURBO_HASH !== undefined,
  /** How long each part of the soak goes on, in seconds. */
  soakSeconds: Number(process.env.SOAK_SECONDS || 60),
} as const;
