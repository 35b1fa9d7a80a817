/** The environment variables that the tests read. */
export const env = {
  /** The path of a Chromium to use instead of the bundled one. */
  chromePath: process.env.CHROME_PATH || undefined,
  /** The directory of npm's cache. */
  home: process.env.HOME,
  /** Whether turbo runs the tests, and has built what they depend on. */
  isRunByTurbo: process.env.TURBO_HASH !== undefined,
  /** How long each part of the soak runs, in seconds. */
  soakSeconds: Number(process.env.SOAK_SECONDS || 60),
} as const;
