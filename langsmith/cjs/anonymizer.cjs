"use strict";
module.exports = require("../dist/entries/anonymizer.js");
