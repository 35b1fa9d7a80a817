import { useNavigate } from "@tanstack/react-router";
import type { MouseEvent } from "react";

/** For a click anywhere on a key's row or card: opens its page, unless a control or a selected text was meant. */
export function useOpenKey(keyId: string): (event: MouseEvent) => void {
  const navigate = useNavigate();
  return (event) => {
    const isOnControl = event.target instanceof Element && event.target.closest("a, button") !== null;
    if (isOnControl || window.getSelection()?.isCollapsed === false) return;
    void navigate({ to: "/account/api-keys/$keyId", params: { keyId } });
  };
}
