"use strict";
module.exports = require("../../dist/entries/unsupported/jestlike.js");
