"use strict";
module.exports = require("../dist/entries/unsupported/generated.js");
