import { setImmediate as tick } from "node:timers/promises";
import { expect, test } from "vitest";
import { type PasswordSource, queuePassword } from "./password-queue.ts";

const stranger = (network: string): PasswordSource => ({ network, knownOrigin: undefined });
const known = (knownOrigin: string): PasswordSource => ({ network: "203.0.113.1", knownOrigin });

/** Hashes that end one by one, and the names of those that have started, in order. */
function createHashes() {
  const started: string[] = [];
  const ends: (() => void)[] = [];
  return {
    started,
    hash: (source: PasswordSource, name: string) =>
      queuePassword(source, async () => {
        started.push(name);
        await new Promise<void>((end) => ends.push(end));
      }).then(
        () => "hashed",
        (error: { code: string; retryAfterSeconds: number }) => `${error.code} ${error.retryAfterSeconds}`,
      ),
    /** Ends all hashes, including those that start later. */
    async endAll() {
      while (ends.length > 0) {
        for (const end of ends.splice(0)) end();
        await tick();
      }
    },
    async endOne() {
      ends.shift()?.();
      await tick();
    },
  };
}

test("limits 60 attempts from one network, which delay another network by one hash", async () => {
  const { hash, started, endOne, endAll } = createHashes();
  const flood = Array.from({ length: 60 }, () => hash(stranger("198.51.100.1"), "flood"));
  const other = hash(stranger("203.0.113.7"), "other");
  await tick();
  expect(started).toEqual(["flood", "flood"]);
  await endOne();
  expect(started).toEqual(["flood", "flood", "other"]);
  await endAll();
  expect(await other).toBe("hashed");
  const outcomes = await Promise.all(flood);
  expect(outcomes.filter((outcome) => outcome === "hashed")).toHaveLength(12);
  expect(outcomes.filter((outcome) => outcome === "SERVICE_UNAVAILABLE 1")).toHaveLength(48);
});

test("many unknown origins neither keep a known origin out of the queue nor delay it by more than one hash", async () => {
  const { hash, started, endOne, endAll } = createHashes();
  const crowd = Array.from({ length: 200 }, (_, index) =>
    hash(stranger(`2001:db8:0:${index}::/64`), "crowd"),
  );
  const owner = hash(known("laptop"), "owner");
  await tick();
  await endOne();
  expect(started).toEqual(["crowd", "crowd", "owner"]);
  await endAll();
  expect(await owner).toBe("hashed");
  expect((await Promise.all(crowd)).filter((outcome) => outcome === "hashed")).toHaveLength(102);
});

test("limits 200 attempts on known devices of one account, which delay everyone else by one hash", async () => {
  const { hash, started, endOne, endAll } = createHashes();
  const flood = Array.from({ length: 200 }, () => hash(known("device of ada@example.com"), "flood"));
  const others = [
    hash(stranger("203.0.113.7"), "stranger"),
    hash(known("device of grace@example.com"), "owner"),
    hash(known("network of ada@example.com"), "network"),
  ];
  await tick();
  for (let count = 0; count < 4; count += 1) await endOne();
  expect(started).toEqual(["flood", "flood", "stranger", "owner", "network", "flood"]);
  await endAll();
  expect(await Promise.all(others)).toEqual(["hashed", "hashed", "hashed"]);
  expect((await Promise.all(flood)).filter((outcome) => outcome === "hashed")).toHaveLength(12);
});

test("many accounts with known origins don't keep anyone out of the queue", async () => {
  const { hash, started, endOne, endAll } = createHashes();
  const all = Array.from({ length: 200 }, (_, index) =>
    hash(known(`device of ${index % 20}@example.com`), "flood"),
  );
  all.push(hash(stranger("203.0.113.7"), "stranger"), hash(known("device of ada@example.com"), "owner"));
  await tick();
  for (let count = 0; count < 22; count += 1) await endOne();
  expect(started.slice(0, 24)).toEqual(expect.arrayContaining(["stranger", "owner"]));
  await endAll();
  expect(new Set(await Promise.all(all))).toEqual(new Set(["hashed"]));
});
