/** The lengths of the hours and days that usage is added up in, in milliseconds. */
export const bucketMs = { hour: 3_600_000, day: 86_400_000 } as const;
