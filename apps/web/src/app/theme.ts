import {
  ActionIcon,
  Button,
  type CSSVariablesResolver,
  createTheme,
  type ExtendComponent,
  Input,
  InputWrapper,
  type MantineColorsTuple,
  Menu,
  type ModalFactory,
  Select,
  Skeleton,
  Tooltip,
} from "@mantine/core";
import classes from "./theme.module.css";

/**
 * Lightest to darkest. Shade 4 is the accent color of the dark scheme, 6 that of the light scheme.
 */
const brass: MantineColorsTuple = [
  "#fbf6ea",
  "#f6efe0",
  "#eedcb4",
  "#e7c67d",
  "#e0a93b",
  "#c08a24",
  "#9a6b15",
  "#855c10",
  "#6b4a0c",
  "#4d3508",
];

const slate: MantineColorsTuple = [
  "#f8f9fb",
  "#f1f3f6",
  "#e3e6eb",
  "#cfd4dc",
  "#a9b1bd",
  "#8a94a3",
  "#576171",
  "#3f4854",
  "#2a313b",
  "#1b2129",
];

const slateForDark: MantineColorsTuple = [
  "#e6e9ee",
  "#c5ccd6",
  "#9ca6b4",
  "#8a95a4",
  "#3a434f",
  "#262c35",
  "#1b2027",
  "#0e1115",
  "#0b0e11",
  "#080a0c",
];

/**
 * Mantine's theme with our tokens. The color values are in `global.css`, so that they apply before
 * any script runs.
 */
export const theme = createTheme({
  primaryColor: "brass",
  primaryShade: { light: 6, dark: 4 },
  colors: { brass, gray: slate, dark: slateForDark },
  black: "#1b2129",
  fontFamily: "Inter, system-ui, sans-serif",
  fontFamilyMonospace: '"JetBrains Mono", ui-monospace, monospace',
  headings: { fontFamily: "Inter, system-ui, sans-serif", fontWeight: "600" },
  fontSizes: { xs: "12px", sm: "14px", md: "14px", lg: "16px", xl: "20px" },
  lineHeights: { xs: "16px", sm: "20px", md: "20px", lg: "24px", xl: "28px" },
  spacing: { xs: "8px", sm: "12px", md: "16px", lg: "24px", xl: "32px" },
  radius: { xs: "2px", sm: "4px", md: "6px", lg: "8px", xl: "12px" },
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  activeClassName: "",
  components: {
    ActionIcon: ActionIcon.extend({ defaultProps: { size: 28 }, classNames: { root: classes.icon ?? "" } }),
    Button: Button.extend({
      defaultProps: { variant: "filled" },
      classNames: { root: classes.button ?? "" },
    }),
    Input: Input.extend({
      classNames: { wrapper: classes.inputWrapper ?? "", input: classes.input ?? "" },
    }),
    InputWrapper: InputWrapper.extend({
      defaultProps: { inputWrapperOrder: ["label", "input", "description", "error"] },
      classNames: {
        label: classes.label ?? "",
        description: classes.help ?? "",
        error: classes.error ?? "",
      },
    }),
    Menu: Menu.extend({
      defaultProps: {
        offset: 4,
        shadow: "none",
        transitionProps: { duration: 0 },
        // Not in a portal, so that the menu is in the same landmark as its button.
        withinPortal: false,
        withInitialFocusPlaceholder: false,
      },
      classNames: {
        dropdown: classes.menu ?? "",
        item: classes.menuItem ?? "",
        label: classes.menuLabel ?? "",
        divider: classes.menuDivider ?? "",
        itemIndicator: classes.menuIndicator ?? "",
      },
    }),
    // Not `Modal.extend`, which would make dialogs part of the first load.
    Modal: {
      defaultProps: {
        centered: true,
        shadow: "none",
        size: 520,
        transitionProps: { duration: 0 },
        // Keeps the scroll bar, so that the page behind the dialog does not shift.
        removeScrollProps: { removeScrollBar: false },
        overlayProps: { className: classes.overlay ?? "" },
        closeButtonProps: { "aria-label": "Close", iconSize: 18 },
        // The dialog's `header` element would count as a second banner landmark of the page.
        attributes: { header: { role: "none" } },
      },
      classNames: {
        content: classes.dialog ?? "",
        header: classes.dialogHeader ?? "",
        title: classes.dialogTitle ?? "",
        body: classes.dialogBody ?? "",
      },
    } satisfies ExtendComponent<ModalFactory>,
    Select: Select.extend({
      defaultProps: {
        allowDeselect: false,
        checkIconPosition: "right",
        comboboxProps: {
          shadow: "none",
          offset: 4,
          transitionProps: { duration: 0 },
          // In the content, because all text must be in a landmark. Without a portal, a table would
          // clip the options.
          portalProps: { target: "#content" },
        },
      },
      classNames: { dropdown: classes.menu ?? "", option: classes.option ?? "" },
    }),
    Skeleton: Skeleton.extend({ classNames: { root: classes.skeleton ?? "" } }),
    Tooltip: Tooltip.extend({
      defaultProps: {
        // In the content, because all text must be in a landmark.
        portalProps: { target: "#content" },
        openDelay: 200,
        transitionProps: { duration: 0 },
        events: { hover: true, focus: true, touch: false },
      },
      classNames: { tooltip: classes.tooltip ?? "" },
    }),
  },
});

const colors = {
  "--mantine-color-body": "var(--lk-body)",
  "--mantine-color-text": "var(--lk-text)",
  "--mantine-color-bright": "var(--lk-text)",
  "--mantine-color-dimmed": "var(--lk-dimmed)",
  "--mantine-color-placeholder": "var(--lk-placeholder)",
  "--mantine-color-anchor": "var(--lk-accent-text)",
  "--mantine-color-error": "var(--lk-rejected)",
  "--mantine-color-default": "var(--lk-body)",
  "--mantine-color-default-hover": "var(--lk-hover)",
  "--mantine-color-default-color": "var(--lk-text)",
  "--mantine-color-default-border": "var(--lk-border)",
  "--mantine-color-disabled": "var(--lk-disabled)",
  "--mantine-color-disabled-color": "var(--lk-disabled-text)",
  "--mantine-color-disabled-border": "var(--lk-border)",
  "--mantine-color-brass-filled": "var(--lk-accent)",
  "--mantine-color-brass-filled-hover": "var(--lk-accent-hover)",
  "--mantine-primary-color-contrast": "var(--lk-on-accent)",
};

/** Maps the color variables of Mantine's components to our tokens, in both schemes. */
export const resolveCssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: colors,
  dark: colors,
});
