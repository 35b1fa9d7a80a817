/** The length of each bucket in which usage is added up, in milliseconds. */
export const bucketMs = { hour: 3_600_000, day: 86_400_000 } as const;
