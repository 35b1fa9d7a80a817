import { expect, test } from "vitest";
import { pagePaths } from "./page-paths.ts";
import { router } from "./router.tsx";

test("lists exactly the paths that the router has a page for", () => {
  const { "/$": notFoundPage, ...pages } = router.routesByPath;
  expect(notFoundPage).toBeDefined();
  expect([...pagePaths].sort()).toEqual(Object.keys(pages).sort());
});
