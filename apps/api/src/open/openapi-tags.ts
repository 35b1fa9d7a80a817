import type { Endpoint } from "../http/endpoint.ts";

interface Tag {
  readonly name: string;
  readonly description?: string;
}

/** What there is to work with, by the segment of a path that names it. */
const tags: Readonly<Record<string, Tag>> = {
  global: { name: "Instance", description: "This installation of Latchkey." },
  me: { name: "Me", description: "The key of the request, and who it acts for." },
  "api-keys": {
    name: "API keys",
    description: "The keys of the user that the request acts for: what each may do, and its use.",
  },
  workspaces: {
    name: "Workspaces",
    description: "What people share, and keep from each other: each has its own members, with a role each.",
  },
  members: { name: "Members", description: "Who belongs to a workspace, and with which role." },
  "audit-events": {
    name: "Audit log",
    description: "Who changed what in a workspace, when, and from where. It can be read, and not changed.",
  },
};

/** The resource that an endpoint is about: what stands in a workspace, else the first segment of its path. */
export function tagOf({ path }: Pick<Endpoint, "path">): Tag {
  const [first = "", , nested] = path.slice(1).split("/");
  const segment = first === "workspaces" && nested ? nested : first;
  return tags[segment] ?? { name: segment };
}
