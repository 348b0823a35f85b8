"use strict";
module.exports = require("../../dist/entries/vitest-reporter.js");
