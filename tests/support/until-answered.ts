import { setTimeout as delay } from "node:timers/promises";

/** The pause after each attempt, in milliseconds. An attempt at a node in a process of its own ends within two seconds. */
const pauseMs = 100;
const maxAttempts = 60;

/**
 * Sends a request again while the server responds with 503, which a node in a process of its own does on a busy machine at the
 * deadline of a request. For tests that don't assert deadlines.
 * @param mustRepeat whether an answer means that the request must be sent again.
 */
export async function untilAnswered<Answer extends { readonly status: number }>(
  send: () => Promise<Answer>,
  mustRepeat: (answer: Answer) => boolean = ({ status }) => status === 503,
): Promise<Answer> {
  let answer = await send();
  for (let attempt = 1; mustRepeat(answer) && attempt < maxAttempts; attempt += 1) {
    await delay(pauseMs);
    answer = await send();
  }
  return answer;
}

/** The statuses of a change that succeeds, and of one that was already made. */
export type ChangeStatuses = readonly [success: number, alreadyMade: number];

/**
 * Sends a change like {@link untilAnswered}. A change that got 503 at its deadline may still have been made, so a later attempt that
 * finds it made counts as a success.
 */
export async function untilChanged(
  send: () => Promise<number>,
  [success, alreadyMade]: ChangeStatuses,
): Promise<number> {
  let attempts = 0;
  const { status } = await untilAnswered(async () => {
    attempts += 1;
    return { status: await send() };
  });
  return attempts > 1 && status === alreadyMade ? success : status;
}
