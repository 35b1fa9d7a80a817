import { Drawer } from "@mantine/core";
import type { ReactElement } from "react";
import { Navigation } from "./navigation.tsx";
import type { WorkspacePage } from "./pages.ts";

interface NavigationDrawerProps {
  readonly pages: readonly WorkspacePage[];
  readonly isOperator: boolean;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** The navigation on narrow screens. */
export function NavigationDrawer({ isOpen, onClose, ...navigation }: NavigationDrawerProps): ReactElement {
  return (
    <Drawer
      opened={isOpen}
      onClose={onClose}
      size={264}
      title="Navigation"
      closeButtonProps={{ "aria-label": "Close" }}
      transitionProps={{ duration: 0 }}
      removeScrollProps={{ removeScrollBar: false }}
      attributes={{ header: { role: "none" } }}
    >
      <Navigation {...navigation} isCollapsed={false} onNavigate={onClose} />
    </Drawer>
  );
}
