import { hash, verify } from "@node-rs/argon2";

/** For argon2id, the library's default: 19 MiB, two passes, one lane, as OWASP recommends; about 18 ms of a core. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Hashes a password for storage, in PHC form. A server does this through `queuePassword`. */
export async function hashPassword(password: string): Promise<string> {
  return await hash(password, parameters);
}

/** Whether the password is the one that was hashed. A server does this through `queuePassword`. */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  return await verify(stored, password);
}
