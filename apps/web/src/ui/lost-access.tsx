import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "./empty.module.css";
import { Quoted } from "./quoted.tsx";

interface LostAccessProps {
  /** The workspace's name. */
  readonly name: string;
  readonly onLeave: () => void;
}

/**
 * Replaces a page of a workspace if the user is removed from the workspace while the page is open.
 */
export function LostAccess({ name, onLeave }: LostAccessProps): ReactElement {
  return (
    <section className={classes.panel} role="alert">
      <h1 className={classes.title}>
        You are no longer a member of <Quoted>{name}</Quoted>
      </h1>
      <p className={classes.words}>
        You were removed from this workspace, or it was deleted. Your API keys can no longer access it.
      </p>
      <Button variant="default" onClick={onLeave}>
        Continue
      </Button>
    </section>
  );
}
