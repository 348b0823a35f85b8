"use strict";
module.exports = require("../../dist/entries/singletons.js");
