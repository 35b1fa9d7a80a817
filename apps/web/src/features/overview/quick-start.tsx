import { Button, Skeleton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCheck, IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type ReactElement, type ReactNode, useId } from "react";
import type { ApiKeySummary } from "../../server/trpc.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { countOf } from "../../ui/count.ts";
import { curlLine } from "../../ui/curl-line.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Section } from "../../ui/section.tsx";
import classes from "./quick-start.module.css";

interface QuickStartProps {
  readonly progress: ApiKeySummary | undefined;
  readonly baseUrl: string;
  readonly workspaceId: string;
}

/** The steps to a first working key. Collapses to one line once all steps are done. */
export function QuickStart(props: QuickStartProps): ReactElement {
  const { progress, baseUrl, workspaceId } = props;
  const isDone = progress !== undefined && progress.keyCount > 0 && progress.usageCount > 0;
  return isDone ? <CompletedSteps baseUrl={baseUrl} workspaceId={workspaceId} /> : <Steps {...props} />;
}

function CompletedSteps({ baseUrl, workspaceId }: Omit<QuickStartProps, "progress">): ReactElement {
  const [isOpen, { toggle }] = useDisclosure(false);
  const lineId = useId();
  return (
    <section className={classes.section} aria-labelledby="quick-start">
      <div className={classes.done}>
        <h2 className={classes.heading} id="quick-start">
          <IconCheck size={16} aria-hidden="true" /> Quick start: done
        </h2>
        <Button variant="default" aria-expanded={isOpen} aria-controls={lineId} onClick={toggle}>
          {isOpen ? "Hide the command" : "Show the command"}
        </Button>
      </div>
      <div id={lineId} hidden={!isOpen}>
        <CodeLine code={curlLine(baseUrl, "$API_KEY", workspaceId)} copyLabel="Copy command" />
      </div>
    </section>
  );
}

/** The steps to a first working key. Each step is checked off automatically. */
function Steps({ progress, baseUrl, workspaceId }: QuickStartProps): ReactElement {
  const hasKey = progress && progress.keyCount > 0;
  const isUsed = progress && progress.usageCount > 0;
  return (
    <Section title="Quick start" isWide isBusy={!progress}>
      <ol className={classes.steps}>
        <Step number={1} title="Create an API key" isDone={hasKey}>
          {!progress ? (
            <Skeleton h={32} w={136} />
          ) : hasKey ? (
            <p className={classes.words}>
              You have {countOf(progress.keyCount, "key", "keys")}.{" "}
              <Link to="/account/api-keys">See your API keys</Link>
            </p>
          ) : (
            <Button
              renderRoot={(props) => <Link {...props} to="/account/api-keys" search={{ dialog: "new" }} />}
              leftSection={<IconPlus size={16} />}
            >
              New API key
            </Button>
          )}
        </Step>
        <Step number={2} title="Call the open API" isDone={isUsed}>
          <p className={classes.words}>
            Paste this into a shell, with your key in place of <code className={classes.code}>$API_KEY</code>.
          </p>
          <CodeLine code={curlLine(baseUrl, "$API_KEY", workspaceId)} copyLabel="Copy command" />
        </Step>
        <Step number={3} title="See the request counted" isDone={isUsed}>
          <p className={classes.words}>
            {progress?.lastUsedAt ? (
              <>
                {countOf(progress.usageCount, "use", "uses")} so far, the latest{" "}
                <RelativeTime at={progress.lastUsedAt} />.
              </>
            ) : (
              "Completes automatically a few seconds after your first request."
            )}
          </p>
        </Step>
      </ol>
    </Section>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean | undefined;
  readonly children: ReactNode;
}

function Step({ number, title, isDone = false, children }: StepProps): ReactElement {
  return (
    <li className={classes.step}>
      <span className={classes.marker} data-done={isDone || undefined} aria-hidden="true">
        {isDone ? <IconCheck size={14} stroke={2.5} /> : number}
      </span>
      <div className={classes.body}>
        <h3 className={classes.title}>
          {title}
          {isDone && <span className="visually-hidden"> (done)</span>}
        </h3>
        {children}
      </div>
    </li>
  );
}
