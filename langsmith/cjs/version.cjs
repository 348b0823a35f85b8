"use strict";
module.exports = require("../dist/entries/version.js");
