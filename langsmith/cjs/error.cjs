"use strict";
module.exports = require("../dist/entries/error.js");
