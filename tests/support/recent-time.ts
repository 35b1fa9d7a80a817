/**
 * The words for a time less than an hour ago. The words for less than ten seconds ago don't stay long enough for a test: on a busy
 * machine, the steps between an action and a look at its time take longer.
 */
export const recentTime = /^(just now|\d+ (s|min) ago)$/;
