import { createContext } from "react";

/** Whether the user has chosen exact times instead of times relative to now. */
export const ExactTimes = createContext(false);
