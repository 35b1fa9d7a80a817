import { type Account, type CreatedKey, callProcedure } from "./account.ts";

/** The outcomes of creating keys, one after the other. */
export interface CreatedKeys {
  /** The keys that were created and shown. */
  readonly keys: readonly CreatedKey[];
  /** The statuses of the failed requests; 0 if there was no response of Latchkey. */
  readonly failures: readonly number[];
}

/** Creates one key after the other until it is stopped. No proxy may repeat such a request. */
export function startCreatingKeys(
  baseUrl: string,
  { cookie }: Account,
): { readonly stop: () => Promise<CreatedKeys> } {
  const keys: CreatedKey[] = [];
  const failures: number[] = [];
  let isStopped = false;
  const ended = (async () => {
    while (!isStopped) {
      const call = { path: "apiKeys.create", kind: "mutation", input: { name: "made" }, cookie } as const;
      const answer = await callProcedure(baseUrl, call).catch(() => undefined);
      if (answer?.status === 200)
        keys.push(answer.data as CreatedKey); // The router's type for this procedure.
      else failures.push(answer?.status ?? 0);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await ended;
      return { keys, failures };
    },
  };
}
