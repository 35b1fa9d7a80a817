import type { Endpoint } from "../http/endpoint.ts";

interface Tag {
  readonly name: string;
  readonly description?: string;
}

/** The tags, by the path segment of their resource. */
const tags: Readonly<Record<string, Tag>> = {
  global: { name: "Instance", description: "The Latchkey instance." },
  me: { name: "Me", description: "The API key of the request, its owner, and the owner's notices." },
  "api-keys": {
    name: "API keys",
    description: "API keys of the user who owns the request's key: restrictions and usage.",
  },
  "workspaces/api-keys": {
    name: "API keys of a workspace",
    description: "The API keys that can reach a workspace. Block or unblock them.",
  },
  "api-key-policy": {
    name: "API key policy",
    description: "Requirements of a workspace for the API keys that reach it.",
  },
  workspaces: {
    name: "Workspaces",
    description: "The unit of tenancy. Each workspace has its own members, and each member has a role.",
  },
  members: { name: "Members", description: "Members of a workspace, and their roles." },
  "service-accounts": {
    name: "Service accounts",
    description: "Accounts of a workspace for integrations, such as a deploy pipeline.",
  },
  "ownership-transfer": {
    name: "Ownership transfer",
    description: "An owner's offer to transfer ownership of a workspace to another member.",
  },
  invitations: {
    name: "Invitations",
    description: "Invitations to a workspace that nobody has accepted yet.",
  },
  webhooks: {
    name: "Webhooks",
    description:
      "URLs to which the events of the audit log are sent, by [Standard Webhooks](https://www.standardwebhooks.com).",
  },
  "audit-events": {
    name: "Audit log",
    description: "Changes to a workspace, with actor, time and IP address. Read-only.",
  },
};

/**
 * The tag of an endpoint: the segment after the workspace, or the first segment of its path. A segment that is a resource of
 * users too has another tag in a workspace.
 */
export function tagOf({ path }: Pick<Endpoint, "path">): Tag {
  const [first = "", , nested] = path.slice(1).split("/");
  const segment = first === "workspaces" && nested ? nested : first;
  return tags[`${first}/${segment}`] ?? tags[segment] ?? { name: segment };
}
