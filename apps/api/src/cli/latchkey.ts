#!/usr/bin/env node
// The path of the command in scripts that were written before `latchkey.js`, which starts faster.
import "./latchkey.js";
