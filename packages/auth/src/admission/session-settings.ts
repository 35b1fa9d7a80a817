/**
 * Session settings of the connection that runs the statements. Plans are made once, for batches of any size. Without these
 * settings the planner could choose a full scan while a table is small and keep it after the table has grown. Lock waits
 * are short, so that one tenant's transaction doesn't delay other tenants.
 */
export const sessionSettings = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  "enable_memoize=off",
  "jit=off",
  "synchronous_commit=on",
  "lock_timeout=100",
] as const;
