import { Modal, UnstyledButton } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { type KeyboardEvent, type MouseEvent, type ReactElement, useId, useState } from "react";
import type { Session, SessionWorkspace } from "../../server/trpc.ts";
import { dialogLayers } from "../../ui/dialog-layers.ts";
import { Quoted } from "../../ui/quoted.tsx";
import classes from "./command-palette.module.css";
import { type Command, type ServerSearch, useCommands } from "./use-commands.ts";

/** Above all other dialogs, because the shortcut works while one of them is open. */
const layer = dialogLayers.discard + 1;

interface CommandPaletteProps {
  readonly session: Session;
  readonly workspace: SessionWorkspace | undefined;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onNewWorkspace: () => void;
}

/** Searches pages, the user's keys, members of the workspace, actions and request IDs. Opens with Ctrl K or ⌘ K. */
export function CommandPalette({ isOpen, onClose, ...context }: CommandPaletteProps): ReactElement {
  return (
    <Modal.Root
      opened={isOpen}
      onClose={onClose}
      zIndex={layer}
      size={560}
      yOffset="12vh"
      transitionProps={{ duration: 0 }}
      removeScrollProps={{ removeScrollBar: false }}
      classNames={{ overlay: classes.overlay ?? "", content: classes.content ?? "" }}
    >
      <Modal.Overlay />
      <Modal.Content aria-label="Search" onMouseDown={keepFocus}>
        <Palette {...context} onClose={onClose} />
      </Modal.Content>
    </Modal.Root>
  );
}

/** Keeps the focus in the field when something else is clicked, because only the field handles keys. */
function keepFocus(event: MouseEvent): void {
  if (!(event.target instanceof HTMLInputElement)) event.preventDefault();
}

/**
 * A combobox: the focus stays in the field, and arrow keys move the selection. Its state resets
 * each time it opens.
 */
function Palette({ onClose, ...context }: Omit<CommandPaletteProps, "isOpen">): ReactElement {
  const [query, setQuery] = useState("");
  const [selected, setSelected] = useState(0);
  const listId = useId();
  const { groups, serverSearch } = useCommands(query, context);
  const commands = groups.flatMap((group) => group.commands);
  const current = commands[Math.min(selected, commands.length - 1)];

  const run = (command: Command) => {
    onClose();
    command.run();
  };
  const select = (index: number) => {
    const next = (index + commands.length) % commands.length;
    setSelected(next);
    const command = commands[next];
    if (command) document.getElementById(optionId(listId, command))?.scrollIntoView({ block: "nearest" });
  };
  const handleKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") onClose();
    if (!current) return;
    const index = commands.indexOf(current);
    if (event.key === "ArrowDown") select(index + 1);
    else if (event.key === "ArrowUp") select(index - 1);
    else if (event.key === "Enter") run(current);
    else return;
    event.preventDefault();
  };

  return (
    <>
      <div className={classes.search}>
        <IconSearch size={18} className={classes.icon} />
        <input
          className={classes.input}
          data-autofocus
          // Every open dialog closes on Escape, unless the focused element has this attribute. `handleKey` closes this one.
          data-mantine-stop-propagation="true"
          role="combobox"
          aria-label="Search pages, keys, members, actions and request IDs"
          aria-expanded="true"
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={current && optionId(listId, current)}
          placeholder="Search, or paste a request ID"
          autoComplete="off"
          spellCheck={false}
          value={query}
          onChange={(event) => {
            setQuery(event.currentTarget.value);
            setSelected(0);
          }}
          onKeyDown={handleKey}
        />
      </div>
      <div className={classes.list} id={listId} role="listbox" aria-label="Results" tabIndex={-1}>
        {groups.map((group) => (
          // biome-ignore lint/a11y/useSemanticElements: no element has this role and is allowed in a list box
          <div key={group.label} role="group" aria-label={group.label}>
            <div className={classes.group} aria-hidden="true">
              {group.label}
            </div>
            {group.commands.map((command) => (
              <Option
                key={command.id}
                id={optionId(listId, command)}
                command={command}
                isSelected={command === current}
                onHover={() => setSelected(commands.indexOf(command))}
                onRun={() => run(command)}
              />
            ))}
          </div>
        ))}
      </div>
      <p className={classes.empty} role="status" data-centered={commands.length === 0 || undefined}>
        {serverSearch === "idle"
          ? commands.length === 0 && <NoMatch query={query} />
          : searchMessages[serverSearch]}
      </p>
    </>
  );
}

const searchMessages: Readonly<Record<Exclude<ServerSearch, "idle">, string>> = {
  searching: "Searching keys and members…",
  failed: "Couldn’t search keys and members: the server didn’t respond.",
};

function NoMatch({ query }: { readonly query: string }): ReactElement {
  return (
    <>
      Nothing matches <Quoted>{query}</Quoted>.
    </>
  );
}

function optionId(listId: string, command: Command): string {
  return `${listId}-${command.id}`;
}

interface OptionProps {
  readonly id: string;
  readonly command: Command;
  readonly isSelected: boolean;
  readonly onHover: () => void;
  readonly onRun: () => void;
}

function Option({ id, command, isSelected, onHover, onRun }: OptionProps): ReactElement {
  const { icon: Icon, label, detail, isCode } = command;
  const Detail = isCode ? "code" : "span";
  return (
    <UnstyledButton
      id={id}
      className={classes.option}
      role="option"
      tabIndex={-1}
      aria-selected={isSelected}
      onMouseMove={onHover}
      onClick={onRun}
    >
      <Icon size={18} className={classes.icon} />
      <bdi className={classes.words}>{label}</bdi>
      {detail && <Detail className={classes.detail}>{detail}</Detail>}
    </UnstyledButton>
  );
}
