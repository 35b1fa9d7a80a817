import { Tooltip, UnstyledButton } from "@mantine/core";
import { IconLayoutSidebarLeftCollapse, IconLayoutSidebarLeftExpand } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ComponentType, ReactElement } from "react";
import classes from "./navigation.module.css";
import { accountPages, operatorPages, type WorkspacePage } from "./pages.ts";

interface NavigationProps {
  /** The pages of the workspace; empty if the user has no workspace. */
  readonly pages: readonly WorkspacePage[];
  /** Whether to show the pages of the instance. */
  readonly isOperator: boolean;
  readonly isCollapsed: boolean;
  /** Collapses or expands the navigation; absent if it can't be collapsed. */
  readonly onToggle?: () => void;
  readonly onNavigate?: () => void;
}

export function Navigation(props: NavigationProps): ReactElement {
  const { pages, isOperator, isCollapsed, onToggle, onNavigate } = props;
  return (
    <nav className={classes.navigation} aria-label="Main" data-collapsed={isCollapsed || undefined}>
      {pages.length > 0 && (
        <ul className={classes.list}>
          {pages.map(({ label, icon, link }) => (
            <li key={label}>
              <Hint label={label} isShown={isCollapsed}>
                <Link
                  {...link}
                  className={classes.item}
                  activeOptions={{ exact: link.to === "/w/$slug", includeSearch: false }}
                  onClick={onNavigate}
                >
                  <Label icon={icon} text={label} />
                </Link>
              </Hint>
            </li>
          ))}
        </ul>
      )}
      <PageSection title="Account" pages={accountPages} isCollapsed={isCollapsed} onNavigate={onNavigate} />
      {isOperator && (
        <PageSection
          title="Instance"
          pages={operatorPages}
          isCollapsed={isCollapsed}
          onNavigate={onNavigate}
        />
      )}
      {onToggle && (
        <Hint label="Expand sidebar" isShown={isCollapsed}>
          <UnstyledButton className={classes.toggle} onClick={onToggle} aria-expanded={!isCollapsed}>
            <Label
              icon={isCollapsed ? IconLayoutSidebarLeftExpand : IconLayoutSidebarLeftCollapse}
              text={isCollapsed ? "Expand sidebar" : "Collapse sidebar"}
            />
          </UnstyledButton>
        </Hint>
      )}
    </nav>
  );
}

interface PageSectionProps {
  readonly title: string;
  readonly pages: typeof accountPages | typeof operatorPages;
  readonly isCollapsed: boolean;
  readonly onNavigate: (() => void) | undefined;
}

function PageSection({ title, pages, isCollapsed, onNavigate }: PageSectionProps): ReactElement {
  return (
    <>
      <h2 className={classes.section}>{title}</h2>
      <ul className={classes.list}>
        {pages.map(({ label, icon, link }) => (
          <li key={label}>
            <Hint label={label} isShown={isCollapsed}>
              <Link
                {...link}
                className={classes.item}
                activeOptions={{ includeSearch: false }}
                onClick={onNavigate}
              >
                <Label icon={icon} text={label} />
              </Link>
            </Hint>
          </li>
        ))}
      </ul>
    </>
  );
}

interface LabelProps {
  readonly icon: ComponentType<{ size: number; className?: string | undefined }>;
  readonly text: string;
}

function Label({ icon: Icon, text }: LabelProps): ReactElement {
  return (
    <>
      <Icon size={18} className={classes.icon} />
      <span className={classes.text}>{text}</span>
    </>
  );
}

interface HintProps {
  readonly label: string;
  readonly isShown: boolean;
  readonly children: ReactElement;
}

function Hint({ label, isShown, children }: HintProps): ReactElement {
  return (
    <Tooltip label={label} position="right" disabled={!isShown}>
      {children}
    </Tooltip>
  );
}
