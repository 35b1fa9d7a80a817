import { Button, Group } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { type ReactElement, useContext } from "react";
import type { BulkRotation } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import secretClasses from "../../ui/issued-secrets.module.css";
import { saveFile } from "../../ui/save-file.ts";
import { CurrentCloseGuard, useUncopiedSecrets } from "../../ui/uncopied-secrets.ts";
import { toRotatedKeysFile } from "./rotated-keys-file.ts";

const fileName = "rotated-keys.csv";

/** Offers new secrets, which can't be shown again, as a file. Warns before they are discarded without a download. */
export function RotatedKeys({
  result: { rotated, notFound },
  onDone,
}: {
  readonly result: BulkRotation;
  readonly onDone: () => void;
}): ReactElement {
  const { attempt } = useContext(CurrentCloseGuard);
  const hasSecrets = rotated.length > 0;
  const { isWarningShown, onCopied } = useUncopiedSecrets(hasSecrets ? [fileName] : []);
  const download = () => {
    saveFile(new Blob([toRotatedKeysFile(rotated)], { type: "text/csv" }), fileName);
    onCopied(fileName);
  };
  const other = hasSecrets ? "other " : "";
  return (
    <>
      <p className={classes.words} role="status">
        {hasSecrets ? countOf(rotated.length, "key was", "keys were") : "No key was"} rotated.{" "}
        {notFound.length > 0 &&
          `${countOf(notFound.length, `${other}key was`, `${other}keys were`)} already deleted. `}
        {hasSecrets &&
          "The file lists each key with its ID, name, external ID and new secret. Text that a spreadsheet would interpret as a formula begins with an apostrophe. The secrets won’t be shown again. Give each consumer only their own, and then delete the file."}
      </p>
      <p className={secretClasses.warning} role="alert">
        {isWarningShown &&
          "You haven’t downloaded the new secrets, and they won’t be shown again. To close without them, try again."}
      </p>
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={() => attempt(onDone)}>
          Done
        </Button>
        {hasSecrets && (
          <Button leftSection={<IconDownload size={16} />} onClick={download} data-autofocus autoFocus>
            Download CSV
          </Button>
        )}
      </Group>
    </>
  );
}
