import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDownload } from "@tabler/icons-react";
import type { ComponentProps, ReactElement } from "react";
import { LazyDialog } from "../ui/lazy-dialog.tsx";
import type { ExportUsageDialog } from "./export-usage-dialog.tsx";

const exportDialog = {
  load: () => import("./export-usage-dialog.tsx").then((module) => module.ExportUsageDialog),
  closed: { isOpen: false },
};

type Props = Omit<ComponentProps<typeof ExportUsageDialog>, "isOpen" | "onClose">;

/** Opens the dialog that exports verifications. */
export function ExportUsageButton(props: Props): ReactElement {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" leftSection={<IconDownload size={16} />} onClick={open}>
        Export CSV
      </Button>
      <LazyDialog source={exportDialog} props={{ ...props, isOpen, onClose: close }} />
    </>
  );
}
