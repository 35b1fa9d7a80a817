import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { KeyspaceImpact } from "./keyspace-impact.tsx";

test("says which keys were examined if not all of them were", () => {
  const counts = { keyCount: 12_000, activeKeyCount: 9_000, isActiveKeyCountPartial: true };
  const impact = { ...counts, lastUsedAt: null, isPartial: true };
  const markup = renderToStaticMarkup(createElement(KeyspaceImpact, { impact }));
  expect(markup).toContain("<dt>Last used</dt><dd>Newest 10,000 keys: never used</dd>");
});
