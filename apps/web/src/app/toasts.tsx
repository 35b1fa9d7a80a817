import { useNotifications } from "@mantine/notifications";
import { type ComponentType, type ReactElement, useEffect, useState } from "react";
import { useLoaded } from "../ui/use-loaded.ts";

const toasts = {
  load: async (): Promise<ComponentType> => (await import("./toast-list.tsx")).ToastList,
};

/** The messages in a corner of the window. Their code, 10 kB, loads at the first key press or click. */
export function Toasts(): ReactElement | null {
  const { notifications } = useNotifications();
  const [isUsed, setIsUsed] = useState(false);
  useEffect(() => {
    const use = () => setIsUsed(true);
    const options = { once: true, passive: true };
    addEventListener("pointerdown", use, options);
    addEventListener("keydown", use, options);
    return () => {
      removeEventListener("pointerdown", use);
      removeEventListener("keydown", use);
    };
  }, []);
  const ToastList = useLoaded(toasts, isUsed || notifications.length > 0, () => setIsUsed(false));
  return ToastList ? <ToastList /> : null;
}
