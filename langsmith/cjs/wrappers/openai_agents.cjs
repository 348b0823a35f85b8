"use strict";
module.exports = require("../../dist/entries/openai-agents.js");
