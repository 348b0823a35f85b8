"use strict";
module.exports = require("../dist/entries/evaluation.js");
