"use strict";
module.exports = require("../dist/entries/wrappers.js");
