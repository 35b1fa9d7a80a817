import { Tooltip, UnstyledButton } from "@mantine/core";
import { IconLayoutSidebarLeftCollapse, IconLayoutSidebarLeftExpand } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ComponentType, ReactElement } from "react";
import classes from "./navigation.module.css";
import { accountPages, type WorkspacePage } from "./pages.ts";

interface NavigationProps {
  /** Those of the workspace; none for who has no workspace. */
  readonly pages: readonly WorkspacePage[];
  readonly isFolded: boolean;
  /** Folds or unfolds; absent where there is nothing to fold. */
  readonly onFold?: () => void;
  readonly onNavigate?: () => void;
}

export function Navigation({ pages, isFolded, onFold, onNavigate }: NavigationProps): ReactElement {
  return (
    <nav className={classes.navigation} aria-label="Main" data-folded={isFolded || undefined}>
      {pages.length > 0 && (
        <ul className={classes.list}>
          {pages.map(({ label, icon, link }) => (
            <li key={label}>
              <Hint label={label} isShown={isFolded}>
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
      <h2 className={classes.section}>Account</h2>
      <ul className={classes.list}>
        {accountPages.map(({ label, icon, link }) => (
          <li key={label}>
            <Hint label={label} isShown={isFolded}>
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
      {onFold && (
        <Hint label="Expand sidebar" isShown={isFolded}>
          <UnstyledButton className={classes.fold} onClick={onFold} aria-expanded={!isFolded}>
            <Label
              icon={isFolded ? IconLayoutSidebarLeftExpand : IconLayoutSidebarLeftCollapse}
              text={isFolded ? "Expand sidebar" : "Collapse sidebar"}
            />
          </UnstyledButton>
        </Hint>
      )}
    </nav>
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
