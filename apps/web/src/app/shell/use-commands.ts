import { maxLength } from "@latchkey/limits";
import { useDebouncedValue } from "@mantine/hooks";
import { IconHelpCircle, IconKey, IconLogout, IconPlus, IconSun } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type Session, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { isLikeRequestId } from "../is-like-request-id.ts";
import { useSignOut } from "../use-sign-out.ts";
import { appearances, useAppearance } from "./appearance.ts";
import { accountPages } from "./pages.ts";
import { useWorkspacePages } from "./use-workspace-pages.ts";

/** What the API takes at most. */
const debounceMilliseconds = 150;

/** One thing the search finds; `id` has no spaces, because it becomes part of an element's id. */
export interface Command {
  readonly id: string;
  readonly label: string;
  readonly detail?: string;
  readonly icon: typeof IconKey;
  readonly run: () => void;
}

interface CommandGroup {
  readonly label: string;
  readonly commands: readonly Command[];
}

interface Facts {
  readonly session: Session;
  readonly workspace: SessionWorkspace | undefined;
  readonly onNewWorkspace: () => void;
}

/** How the search for keys stands: over or not needed; under way; given up, because the server did not answer. */
export type KeySearch = "idle" | "searching" | "failed";

interface Commands {
  /** No group is empty. */
  readonly groups: readonly CommandGroup[];
  readonly keySearch: KeySearch;
}

/** What matches `query`. Pages and actions match without the server. */
export function useCommands(query: string, facts: Facts): Commands {
  const pages = usePages(query, facts);
  const keys = useKeys(query);
  const actions = useActions(facts);
  const requests = useRequests(query);
  const groups = [
    { label: "Pages", commands: pages.filter(matches(query)) },
    { label: "API keys", commands: keys.commands },
    { label: "Actions", commands: actions.filter(matches(query)) },
    { label: "Requests", commands: requests },
  ];
  return { groups: groups.filter(({ commands }) => commands.length > 0), keySearch: keys.state };
}

function matches(query: string): (command: Command) => boolean {
  const words = query.toLowerCase().split(/\s+/);
  return ({ label }) => words.every((word) => label.toLowerCase().includes(word));
}

/** Pages of other workspaces are many, and come only when somebody looks for something. */
function usePages(query: string, { session, workspace: current }: Facts): readonly Command[] {
  const navigate = useNavigate();
  const pagesOf = useWorkspacePages();
  const others = query.trim() === "" ? [] : session.workspaces.filter(({ id }) => id !== current?.id);
  const ofWorkspaces = [...(current ? [current] : []), ...others].flatMap((workspace) =>
    pagesOf(workspace).map(({ label, icon, link }) => ({
      id: `${label.replace(" ", "-")}-${workspace.slug}`,
      label: workspace.id === current?.id ? label : `${label} of ${workspace.name}`,
      detail: workspace.name,
      icon,
      run: () => void navigate(link),
    })),
  );
  const ofAccount = accountPages.map(({ label, icon, link }) => ({
    id: link.to,
    label,
    detail: "Account",
    icon,
    run: () => void navigate(link),
  }));
  return [...ofWorkspaces, ...ofAccount];
}

function useKeys(query: string): { readonly commands: readonly Command[]; readonly state: KeySearch } {
  const navigate = useNavigate();
  const wanted = query.trim().slice(0, maxLength.search).toWellFormed();
  const [search] = useDebouncedValue(wanted, debounceMilliseconds);
  const isWanted = search !== "" && wanted !== "";
  const { data, isError, isSuccess, isPlaceholderData } = useQuery(
    trpc.apiKeys.list.queryOptions(
      { search, page: 1, pageSize: 10 },
      { enabled: isWanted, placeholderData: keepPreviousData },
    ),
  );
  if (wanted === "") return { commands: [], state: "idle" };
  const isAnswered = search === wanted && isSuccess && !isPlaceholderData;
  const state = isAnswered ? "idle" : search === wanted && isError ? "failed" : "searching";
  const items = isWanted ? (data?.items ?? []) : [];
  const commands = items.map(({ id, name, start }) => ({
    id,
    label: name,
    detail: `${start}…`,
    icon: IconKey,
    run: () => void navigate({ to: "/account/api-keys/$keyId", params: { keyId: id } }),
  }));
  return { commands, state };
}

/** A request, for what may be the id of one. */
function useRequests(query: string): readonly Command[] {
  const navigate = useNavigate();
  const requestId = query.trim();
  if (!isLikeRequestId(requestId)) return [];
  return [
    {
      id: "explain-request",
      label: `Why was request ${requestId} rejected?`,
      icon: IconHelpCircle,
      run: () => void navigate({ to: "/account/requests/$requestId", params: { requestId } }),
    },
  ];
}

function useActions({ onNewWorkspace }: Facts): readonly Command[] {
  const navigate = useNavigate();
  const signOut = useSignOut();
  const [appearance, setAppearance] = useAppearance();
  return [
    {
      id: "new-api-key",
      label: "New API key",
      icon: IconPlus,
      run: () => void navigate({ to: "/account/api-keys", search: { dialog: "new" } }),
    },
    { id: "new-workspace", label: "New workspace", icon: IconPlus, run: onNewWorkspace },
    ...appearances
      .filter(({ value }) => value !== appearance)
      .map(({ value, label }) => ({
        id: `appearance-${value}`,
        label: `Appearance: ${label}`,
        icon: IconSun,
        run: () => setAppearance(value),
      })),
    { id: "sign-out", label: "Sign out", icon: IconLogout, run: signOut },
  ];
}
