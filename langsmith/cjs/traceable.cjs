"use strict";
module.exports = require("../dist/entries/traceable.js");
