import { expect, test } from "vitest";
import { chooseBatch } from "./choose-batch.ts";
import { verificationOf } from "./verifier.test-kit.ts";

/** A request of a user with this many verifications. */
const requestOf = (callerId: string, count: number, lookupCount = 0) => ({
  callerId,
  lookupCount,
  verifications: Array.from({ length: count }, () => verificationOf({ secret: "key" })),
});

/** The users and sizes of chosen requests. */
const describeChosen = (requests: readonly ReturnType<typeof requestOf>[]) =>
  chooseBatch(requests).chosen.map(({ callerId, verifications }) => `${callerId} ${verifications.length}`);

test("a batch of one user has at most 500 verifications, in the order of the requests", () => {
  const requests = [200, 200, 200, 1].map((count) => requestOf("ada", count));
  expect(chooseBatch(requests)).toEqual({ chosen: requests.slice(0, 2), deferred: requests.slice(2) });
  expect(chooseBatch(requests.slice(2))).toEqual({ chosen: requests.slice(2), deferred: [] });
  expect(chooseBatch([])).toEqual({ chosen: [], deferred: [] });
});

test("requests that fit into one batch are returned as they are", () => {
  const full = [requestOf("ada", 250), requestOf("grace", 150, 100)];
  expect(chooseBatch(full).chosen).toBe(full);
});

test("a request that is larger than a batch is chosen alone", () => {
  const [huge, small] = [requestOf("ada", 600), requestOf("ada", 1)];
  expect(chooseBatch([huge, small])).toEqual({ chosen: [huge], deferred: [small] });
});

test("the requests of a user, however many and large they are, don't displace the small ones of others", () => {
  const flood = Array.from({ length: 100 }, () => requestOf("mallory", 100));
  expect(describeChosen([...flood, requestOf("ada", 1), requestOf("grace", 20)])).toEqual([
    ...Array.from({ length: 4 }, () => "mallory 100"),
    "ada 1",
    "grace 20",
  ]);
});

test("large requests of many users leave room for the small one that arrived last", () => {
  const floods = ["mallory", "trudy", "oscar", "eve", "sybil", "craig"].flatMap((callerId) =>
    Array.from({ length: 5 }, () => requestOf(callerId, 100)),
  );
  expect(describeChosen([...floods, requestOf("ada", 1)])).toEqual([
    "mallory 100",
    "trudy 100",
    "oscar 100",
    "eve 100",
    "ada 1",
  ]);
});

test("two users with as many requests get as many turns", () => {
  const ofUser = (callerId: string) => Array.from({ length: 600 }, () => requestOf(callerId, 1));
  const { chosen } = chooseBatch([...ofUser("ada"), ...ofUser("grace")]);
  const counts = Map.groupBy(chosen, ({ callerId }) => callerId);
  expect([counts.get("ada")?.length, counts.get("grace")?.length]).toEqual([250, 250]);
});

test("the oldest request is chosen, even if small ones of others fill the batch", () => {
  const small = Array.from({ length: 100 }, (_, user) =>
    Array.from({ length: 10 }, () => requestOf(`user ${user}`, 1)),
  ).flat();
  const { chosen } = chooseBatch([requestOf("ada", 100), ...small]);
  expect(chosen[0]).toMatchObject({ callerId: "ada" });
  expect(chosen).toHaveLength(401);
});

test("a batch verifies at most 250 keys that are not remembered", () => {
  const requests = [100, 100, 100].map((count) => requestOf("ada", count, count));
  expect(chooseBatch(requests).chosen).toEqual(requests.slice(0, 2));
  const mixed = [requestOf("mallory", 100, 100), requestOf("mallory", 100, 100), requestOf("ada", 100)];
  expect(describeChosen([...mixed, requestOf("mallory", 100, 100)])).toEqual([
    "mallory 100",
    "mallory 100",
    "ada 100",
  ]);
});
