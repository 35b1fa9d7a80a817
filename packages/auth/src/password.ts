import { hash, verify } from "@node-rs/argon2";

/** Shorter passwords are refused, in characters. There are no rules about what they are made of. */
export const minPasswordLength = 12;
export const maxPasswordLength = 128;

/** For argon2id, the library's default: 19 MiB, two passes, one lane, as OWASP recommends; about 18 ms of a core. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/**
 * At most this many hashes at once. Hashing runs on the thread pool; a crowd that signs in must leave cores
 * and memory for admission.
 */
const maxConcurrent = 2;
/** At most this many wait their turn, about two seconds' worth on two busy cores; one more is turned away. */
const maxWaiting = 100;

/** Too many passwords wait to be hashed. */
export class PasswordQueueFullError extends Error {
  override readonly name = "PasswordQueueFullError";
}

/** Hashes a password for storage, in PHC form. @throws {PasswordQueueFullError} */
export async function hashPassword(password: string): Promise<string> {
  return await inTurn(() => hash(password, parameters));
}

/** Whether the password is the one that was hashed. @throws {PasswordQueueFullError} */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  return await inTurn(() => verify(stored, password));
}

let running = 0;
const turns: (() => void)[] = [];

async function inTurn<T>(task: () => Promise<T>): Promise<T> {
  if (running >= maxConcurrent) {
    if (turns.length >= maxWaiting) throw new PasswordQueueFullError("Too many sign-ins at once.");
    await new Promise<void>((resolve) => turns.push(resolve));
  } else {
    running += 1;
  }
  try {
    return await task();
  } finally {
    // The place goes straight to the next in line, so that nobody slips in between.
    const next = turns.shift();
    if (next) next();
    else running -= 1;
  }
}
