"use strict";
module.exports = require("../../dist/entries/not-there/claude-agent.js");
