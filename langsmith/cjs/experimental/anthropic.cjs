"use strict";
module.exports = require("../../dist/entries/unsupported/claude-agent.js");
