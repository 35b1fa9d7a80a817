import { BlockList } from "node:net";
import { measureLeastCpuMs } from "@latchkey/db/testing/cpu-time";
import { expect, test } from "vitest";
import { areContained, createIpMatcher } from "./ip-ranges.ts";

// Not among the tests that run against mutants, which are slower.

test("100 ranges are compared with 100 others in less time than a request may block the event loop", async () => {
  const outer = Array.from({ length: 100 }, (_, host) => `203.0.113.${host}/32`);
  const inner = outer.toReversed();
  const leastMs = await measureLeastCpuMs(() => expect(areContained(outer, inner)).toBe(true));
  expect(leastMs).toBeLessThan(5);
});

const manyRanges = Array.from({ length: 100 }, (_, index) => `2001:db8::${index.toString(16)}:a:b:c:0/112`);

test("ranges are not parsed before they are compared with an address", async () => {
  const leastMs = await measureLeastCpuMs(() => {
    for (let key = 0; key < 1_000; key += 1) createIpMatcher(manyRanges);
  });
  expect(leastMs).toBeLessThan(20);
});

// A read of many keys parses the ranges of each. Node's list takes longest to fill, and a machine that is slow delays both.
test("100 keys with 100 ranges each are compared with an address in less time than Node fills its lists", async () => {
  const leastMs = await measureLeastCpuMs(() => {
    for (let key = 0; key < 100; key += 1) createIpMatcher(manyRanges)("2001:db9::1");
  });
  const networks = manyRanges.map((range) => range.split("/")[0] as string); // Each has a network and a prefix.
  const peerMs = await measureLeastCpuMs(() => {
    for (let key = 0; key < 100; key += 1) {
      const list = new BlockList();
      for (const network of networks) list.addSubnet(network, 112, "ipv6");
    }
  });
  console.info(`100 keys with 100 ranges each: ${leastMs} ms; Node's lists: ${peerMs} ms`);
  expect(leastMs).toBeLessThan(peerMs);
});
