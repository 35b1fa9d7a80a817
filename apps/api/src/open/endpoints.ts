import type { Endpoint } from "../http/endpoint.ts";
import { getConfig } from "./global/get-config.ts";
import { getMe } from "./me/get-me.ts";
import { listWorkspaces } from "./workspaces/list-workspaces.ts";

/** The open API, whole: the router, the OpenAPI document and the tests read this list. */
export const endpoints: readonly Endpoint[] = [getConfig, getMe, listWorkspaces];
