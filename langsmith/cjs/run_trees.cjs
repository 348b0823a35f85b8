"use strict";
module.exports = require("../dist/entries/run-trees.js");
