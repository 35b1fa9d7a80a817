import { maxLength } from "@latchkey/limits";
import { useDebouncedValue } from "@mantine/hooks";
import {
  IconClock,
  IconHelpCircle,
  IconKey,
  IconLogout,
  IconPlus,
  IconSun,
  IconUser,
} from "@tabler/icons-react";
import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { describeFailure } from "../../server/failure.ts";
import { type Session, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { isPossibleRequestId } from "../possible-request-id.ts";
import { useSignOut } from "../use-sign-out.ts";
import { appearances, useAppearance } from "./appearance.ts";
import { accountPages, noticesPage, operatorPages } from "./pages.ts";
import { useExactTimes } from "./use-exact-times.ts";
import { useWorkspacePages } from "./use-workspace-pages.ts";

const debounceMilliseconds = 150;

/** A search result. Its `id` contains no spaces, because it becomes part of an element's `id`. */
export interface Command {
  readonly id: string;
  readonly label: string;
  readonly detail?: string;
  /** Whether the detail is the start of a key. */
  readonly isCode?: boolean;
  readonly icon: typeof IconKey;
  readonly run: () => void;
}

interface CommandGroup {
  readonly label: string;
  readonly commands: readonly Command[];
}

interface CommandContext {
  readonly session: Session;
  readonly workspace: SessionWorkspace | undefined;
  readonly onNewWorkspace: () => void;
}

/** The state of the search for keys and members: finished or not needed, in progress, or failed. */
export type ServerSearch = "idle" | "searching" | "failed";

interface Commands {
  /** The groups that have at least one command. */
  readonly groups: readonly CommandGroup[];
  readonly serverSearch: ServerSearch;
}

/** The commands that match `query`. Only the searches for keys and members call the server. */
export function useCommands(query: string, context: CommandContext): Commands {
  const pages = usePages(query, context);
  const text = useSearchText(query);
  const keys = useKeys(text);
  const members = useMembers(text, context.workspace);
  const actions = useActions(context);
  const requests = useRequests(query);
  const groups = [
    { label: "Pages", commands: pages.filter(matches(query)) },
    { label: "API keys", commands: keys.commands },
    { label: "Members", commands: members.commands },
    { label: "Actions", commands: actions.filter(matches(query)) },
    { label: "Requests", commands: requests },
  ];
  const states = [keys.state, members.state];
  return {
    groups: groups.filter(({ commands }) => commands.length > 0),
    serverSearch:
      states.find((state) => state === "failed") ?? states.find((state) => state !== "idle") ?? "idle",
  };
}

function matches(query: string): (command: Command) => boolean {
  const words = query.toLowerCase().split(/\s+/);
  return ({ label }) => words.every((word) => label.toLowerCase().includes(word));
}

/** Omits the pages of other workspaces if the query is empty, because there can be many. */
function usePages(query: string, { session, workspace: current }: CommandContext): readonly Command[] {
  const navigate = useNavigate();
  const pagesOf = useWorkspacePages();
  const others = query.trim() === "" ? [] : session.workspaces.filter(({ id }) => id !== current?.id);
  const workspaceCommands = [...(current ? [current] : []), ...others].flatMap((workspace) =>
    pagesOf(workspace).map(({ label, icon, link }) => ({
      id: `${label.replace(" ", "-")}-${workspace.slug}`,
      label: workspace.id === current?.id ? label : `${label} of ${workspace.name}`,
      detail: workspace.name,
      icon,
      run: () => void navigate(link),
    })),
  );
  const otherCommands = [
    ...[...accountPages, noticesPage].map((page) => ({ ...page, detail: "Account" })),
    ...(session.user.isOperator ? operatorPages.map((page) => ({ ...page, detail: "Instance" })) : []),
  ].map(({ label, detail, icon, link }) => ({
    id: link.to,
    label,
    detail,
    icon,
    run: () => void navigate(link),
  }));
  return [...workspaceCommands, ...otherCommands];
}

/** What the server searches for. */
interface SearchText {
  readonly typed: string;
  /** The typed text after a pause. */
  readonly search: string;
  readonly isEnabled: boolean;
}

function useSearchText(query: string): SearchText {
  const typed = query.trim().slice(0, maxLength.search).toWellFormed();
  const [search] = useDebouncedValue(typed, debounceMilliseconds);
  return { typed, search, isEnabled: search !== "" && typed !== "" };
}

interface Found {
  readonly commands: readonly Command[];
  readonly state: ServerSearch;
}

/** The results of a search, if they are those of the typed text, and its state. */
function toFound<Item>(
  { typed, search, isEnabled }: SearchText,
  query: Pick<
    UseQueryResult<{ readonly items: readonly Item[] }>,
    "data" | "isError" | "isSuccess" | "isPlaceholderData"
  >,
  toCommand: (item: Item) => Command,
): Found {
  if (typed === "") return { commands: [], state: "idle" };
  const isCurrent = search === typed && query.isSuccess && !query.isPlaceholderData;
  const state = isCurrent ? "idle" : search === typed && query.isError ? "failed" : "searching";
  return { commands: isEnabled ? (query.data?.items ?? []).map(toCommand) : [], state };
}

function useKeys(text: SearchText): Found {
  const navigate = useNavigate();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const { search, isEnabled } = text;
  const query = useQuery(
    trpc.apiKeys.list.queryOptions(
      { search, page: 1, pageSize: 10 },
      { enabled: isEnabled, placeholderData: keepPreviousData },
    ),
  );
  return toFound(text, query, ({ id, name, start }) => ({
    id,
    label: name,
    detail: `${start}…`,
    isCode: true,
    icon: IconKey,
    run: () => {
      // The URL of the open page may contain an open form, whose input would be lost.
      if (path !== `/account/api-keys/${id}`)
        void navigate({ to: "/account/api-keys/$keyId", params: { keyId: id } });
    },
  }));
}

/** The members of the current workspace that match; none if the user can't use the workspace at present. */
function useMembers(text: SearchText, workspace: SessionWorkspace | undefined): Found {
  const navigate = useNavigate();
  const { search, isEnabled } = text;
  const isUsable = workspace !== undefined && !workspace.isDisabled;
  const query = useQuery(
    trpc.members.list.queryOptions(
      { workspaceId: workspace?.id ?? "", search, pageSize: 10 },
      { enabled: isEnabled && isUsable, placeholderData: keepPreviousData },
    ),
  );
  // The workspace may require a second factor that the user doesn't have.
  const isForbidden = query.error !== null && describeFailure(query.error).code === "FORBIDDEN";
  if (!isUsable || isForbidden) return { commands: [], state: "idle" };
  const { slug } = workspace;
  return toFound(text, query, ({ userId, kind, name, email }) => ({
    id: userId,
    label: name,
    detail: email ?? "Service account",
    icon: IconUser,
    run: () =>
      void (kind === "service_account"
        ? navigate({ to: "/w/$slug/members/service-accounts/$userId", params: { slug, userId } })
        : navigate({ to: "/w/$slug/members", params: { slug }, search: { q: email ?? name } })),
  }));
}

/** A link to the explanation of a rejected request, if the query can be a request ID. */
function useRequests(query: string): readonly Command[] {
  const navigate = useNavigate();
  const requestId = query.trim();
  if (!isPossibleRequestId(requestId)) return [];
  return [
    {
      id: "explain-request",
      label: `Why was request ${requestId} rejected?`,
      icon: IconHelpCircle,
      run: () => void navigate({ to: "/account/requests/$requestId", params: { requestId } }),
    },
  ];
}

function useActions({ onNewWorkspace }: CommandContext): readonly Command[] {
  const navigate = useNavigate();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const signOut = useSignOut();
  const [appearance, setAppearance] = useAppearance();
  const [hasExactTimes, setHasExactTimes] = useExactTimes();
  return [
    {
      id: "new-api-key",
      label: "New API key",
      icon: IconPlus,
      run: () => {
        const to = "/account/api-keys";
        const isOpen = path === to;
        // Keeps the filters of the list, but not those of another page.
        void navigate({
          to,
          search: (current: object) => ({ ...(isOpen && current), dialog: "new" as const }),
        });
      },
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
    {
      id: "exact-times",
      label: hasExactTimes ? "Show relative times" : "Show exact times",
      icon: IconClock,
      run: () => setHasExactTimes(!hasExactTimes),
    },
    { id: "sign-out", label: "Sign out", icon: IconLogout, run: signOut },
  ];
}
