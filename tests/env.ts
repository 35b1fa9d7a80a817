/** The one place of the tests that reads the environment. */
export const env = {
  /** A Chromium to use in place of the bundled one. */
  chromePath: process.env.CHROME_PATH || undefined,
} as const;
