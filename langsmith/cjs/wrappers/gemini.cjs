"use strict";
module.exports = require("../../dist/entries/wrappers-gemini.js");
