"use strict";
module.exports = require("../../dist/entries/not-there/jestlike.js");
