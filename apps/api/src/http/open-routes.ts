import Router from "@koa/router";
import type { Requirement } from "@latchkey/auth/decision";
import { decodeId, type WorkspaceId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";
import type { Endpoint } from "./endpoint.ts";

/** The endpoint for a method and a path under `/open`. */
export interface Route {
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
  /** What admission checks besides the key. */
  readonly requirement: Requirement | undefined;
}

/** Finds the endpoint for a method and a path, or returns the error NOT_FOUND or METHOD_NOT_SUPPORTED. */
export type FindRoute = (method: string, path: string) => Route | AppError;

/** An ID that no workspace has. A malformed ID in a path is treated like it, so that both get the same response. */
const idOfNoWorkspace = "00000000-0000-0000-0000-000000000000" as WorkspaceId; // Postgres accepts any UUID.

export function createRoutes(endpoints: readonly Endpoint[]): FindRoute {
  const router = new Router({ prefix: "/open", strict: true, sensitive: true });
  const endpointOf = new Map(
    endpoints.map((endpoint) => [router.register(endpoint.path, [endpoint.method], unusedHandler), endpoint]),
  );
  // Paths without parameters are found without matching patterns.
  const staticRoutes = new Map<string, Map<string, Route>>();
  for (const endpoint of endpoints.filter(({ path }) => !path.includes(":"))) {
    const path = `/open${endpoint.path}`;
    const methods = staticRoutes.get(path) ?? new Map<string, Route>();
    staticRoutes.set(
      path,
      methods.set(endpoint.method, { endpoint, params: {}, requirement: toRequirement(endpoint, {}) }),
    );
  }
  return (method, path) => {
    const staticRoute = staticRoutes.get(path)?.get(method);
    if (staticRoute) return staticRoute;
    const match = router.match(path, method);
    if (match.path.length === 0) return new AppError("NOT_FOUND");
    const [layer] = match.pathAndMethod;
    const endpoint = layer && endpointOf.get(layer);
    if (endpoint) {
      const params = layer.params(path, layer.captures(path));
      return { endpoint, params, requirement: toRequirement(endpoint, params) };
    }
    const allowed = [...new Set(match.path.flatMap(({ methods }) => methods))].sort().join(", ");
    return new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: allowed } });
  };
}

function toRequirement(
  { access }: Endpoint,
  params: Readonly<Record<string, string>>,
): Requirement | undefined {
  if (access === "key") return undefined;
  if (access === "unrestricted-key") return "unrestricted";
  const workspaceId = decodeId("workspace", params.workspaceId ?? "") ?? idOfNoWorkspace;
  return { workspaceId, permission: access.workspace };
}

const unusedHandler: Middleware = async () => undefined;
