import type { AppRouter } from "@latchkey/api/router";
import { restrictionLimits } from "@latchkey/limits";
import { createTRPCClient } from "@trpc/client";
import { expect, test } from "vitest";
import { createLinks } from "../../server/links.ts";
import { toPolicySettings } from "./policy-settings.ts";
import { noRestrictions } from "./restrictions/restriction-values.ts";

const workspaceId = "ws_01h455vb4pex5vsknk084sn02q";
const repeat = (text: string) => Array<string>(restrictionLimits.maxItems).fill(text);

test("the longest restrictions that a key can have fit into a query", async () => {
  const longest = {
    ...noRestrictions,
    expiry: "date",
    expiryDate: "2031-03-01T09:30",
    workspaceIds: repeat(workspaceId),
    ipRanges: repeat("2001:db8:1111:2222:3333:4444:5555:6666/128").join("\n"),
  } as const;
  const lengths: number[] = [];
  const fetch = async (url: unknown) => {
    lengths.push(String(url).length);
    return Response.json([{ result: { data: [] } }]);
  };
  const client = createTRPCClient<AppRouter>({ links: createLinks({ url: "/trpc", fetch }) });
  const settings = toPolicySettings(longest);
  expect(settings.workspaceIds).toHaveLength(restrictionLimits.maxItems);
  expect(settings.ipRanges).toHaveLength(1);
  expect(await client.apiKeys.checkPolicies.query({ settings })).toEqual([]);
  expect(lengths).toHaveLength(1);
});

test("a key of a service account can reach only its workspace", () => {
  expect(toPolicySettings(noRestrictions, workspaceId)).toEqual({
    expiresAt: null,
    workspaceIds: [workspaceId],
    ipRanges: null,
  });
});
