import "@latchkey/db/testing/global-setup";
