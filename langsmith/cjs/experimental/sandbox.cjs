"use strict";
module.exports = require("../../dist/entries/unsupported/sandbox.js");
