"use strict";
module.exports = require("../dist/entries/index.js");
