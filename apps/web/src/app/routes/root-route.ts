import { createRootRoute } from "@tanstack/react-router";
import { Root } from "../root.tsx";

/** The parent of all routes. */
export const rootRoute = createRootRoute({ component: Root });
